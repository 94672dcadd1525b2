package rubric

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// The tests of this file start the plug-in as a process.

var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "merit-rubric-test-")
	if err != nil {
		panic(err)
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var built = sync.OnceValues(func() (text string, err error) {
	cmd := exec.Command("go", "build", "-o", binaries, "./plugins/rubric", "./plugins/openai")
	cmd.Dir = testneeds.Root()
	out, err := cmd.CombinedOutput()
	return string(out), err
})

// Promise: both forms keep the contract of env.Env over a process and a socket.
func TestContractOverTheWire(t *testing.T) {
	testneeds.Slow(t, "checks the contract of a plug-in process")
	text, err := built()
	require.NoError(t, err, text)
	for name, options := range map[string]string{"choice": `{}`, "json": jsonForm} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func(t testing.TB) env.Env {
				cfg := host.DefaultConfig()
				cfg.Path, cfg.Slots, cfg.Options = filepath.Join(binaries, "rubric"), 3, json.RawMessage(options)
				e, err := host.Open(t.Context(), cfg)
				require.NoError(t, err)
				t.Cleanup(func() { _ = e.Close() })
				return e
			}, said...)
		})
	}
}

// counsel is a language model of few words: it asks one question too many at
// first, then one, and then writes that what is short is good.
func counsel(messages []rl.Message) chattest.Answer {
	answers := 0
	for _, m := range messages {
		if m.Role == rl.RoleAssistant {
			answers++
		}
	}
	return chattest.Answer{Text: []string{
		`{"ask": ["What matters most?", "What else?", "What else?", "What else?"]}`,
		`{"ask": ["What matters most?"]}`,
		"Here it is:\n```json\n" + `{"rubric": {"name": "r", "criteria": [{"name": "short", "weight": 1, "rule": {"language": "python",
			"code": "def rule(output, task):\n    return len(output['text']) < 900"}}]}}` + "\n```",
	}[min(answers, 2)]}
}

// Promise: a language model asks and writes, its rule is run on what workers
// made, and the reward holds it against the stakeholder's.
func TestLanguageModel(t *testing.T) {
	testneeds.Slow(t, "trains a language model")
	text, err := built()
	require.NoError(t, err, text)
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	server := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if strings.HasSuffix(c.Path, "/models") {
			return chattest.Models("smollm2")
		}
		var messages []rl.Message
		c.Field(t, "messages", &messages)
		return counsel(messages).Reply()
	})
	example := filepath.Dir(examples())
	config := filepath.Join(t.TempDir(), "json.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
environment: {plugin: %s, options: {form: json, rubrics: %s, attempts: 2}}
policy: {plugin: %s, options: {url: %q, model: smollm2}}
rewards: [{module: %s, rubric: {judge: {script: %s}}}]
rollout: {groups: 2, members: 2}
sandbox: {cache_dir: %s}
`, filepath.Join(binaries, "rubric"), examples(), filepath.Join(binaries, "openai"), server.URL,
		filepath.Join(example, "reward.py"), filepath.Join(example, "judge.py"), filepath.Join(filepath.Dir(interpreter.Folder()), "test")), 0o600))
	cfg, err := merit.LoadConfig(config)
	require.NoError(t, err)
	s, err := merit.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	played := 0
	_, err = s.Rollout(t.Context(), merit.RolloutOptions{}, func(e *rl.Trajectory) error {
		require.Equal(t, rl.StopTerminated, e.StopReason, e.Error)
		require.True(t, e.Evaluation != nil && e.Evaluation.IsScoreValid, "has a score")
		require.Equal(t, 1.0, e.Metrics["repairs"])
		require.Equal(t, 2.0, e.Metrics["attempts"])
		require.Equal(t, 1.0, e.Metrics["told"])
		require.Contains(t, e.Messages[3].Content.Text(), `"ask" has 4 questions, not 1 to 3`)
		played++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 4, played)
}

// Promise: a picture for people shows what was said and what was written.
func TestRender(t *testing.T) {
	e := open(t, 1, "train", `{}`)
	b := env.NewBatch(e.Spec())
	var r env.Reply
	for i, action := range []string{"", "ask what matters most", "finish"} {
		b.Ops[0] = env.Step
		if i == 0 {
			b.Ops[0] = env.Reset
		}
		for a, name := range e.Spec().Actions {
			if name == action {
				b.Actions[0] = int32(a)
			}
		}
		require.NoError(t, e.Exchange(t.Context(), b, &r))
	}
	text, err := e.(env.Renderer).Render(t.Context(), 0)
	require.NoError(t, err)
	require.Contains(t, text, "You asked: What matters most?\nThe stakeholder says: ")
	require.True(t, strings.HasSuffix(text, "Your rubric: empty"), text)
}
