package toolbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// The tests of this file start the plug-in as a process.

var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "merit-toolbox-test-")
	if err != nil {
		panic(err)
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var built = sync.OnceValues(func() (text string, err error) {
	cmd := exec.Command("go", "build", "-o", binaries, "./plugins/toolbox", "./plugins/openai")
	cmd.Dir = testneeds.Root()
	out, err := cmd.CombinedOutput()
	return string(out), err
})

// Promise: both forms keep the contract of env.Env over a process and a socket.
func TestContractOverTheWire(t *testing.T) {
	text, err := built()
	require.NoError(t, err, text)
	for name, options := range map[string]string{"tools": `{}`, "choice": hard} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func(t testing.TB) env.Env {
				cfg := host.DefaultConfig()
				cfg.Path, cfg.Slots, cfg.Options = filepath.Join(binaries, "toolbox"), 3, json.RawMessage(options)
				e, err := host.Open(t.Context(), cfg)
				require.NoError(t, err)
				t.Cleanup(func() { _ = e.Close() })
				return e
			}, said...)
		})
	}
}

var (
	asked   = regexp.MustCompile(`Cancel the event "(\w+)"`)
	foundID = regexp.MustCompile(`"id":"(ev-\d+)"`)
)

// clerk is a language model of few words that cancels events: it looks the
// event up, cancels it, asks for access where that is denied, and tries again.
func clerk(messages []rl.Message) chattest.Answer {
	use := func(name, arguments string) chattest.Answer {
		return chattest.Answer{Finish: "tool_calls", ToolCalls: []rl.ToolCall{{ID: "call_1", Type: "function", Function: rl.FunctionCall{Name: name, Arguments: arguments}}}}
	}
	request, id, last := "", "", rl.Message{}
	for _, m := range messages {
		switch m.Role {
		case rl.RoleUser:
			if request == "" {
				request = m.Content.Text()
			}
		case rl.RoleTool:
			if last = m; m.Name == "find_event" {
				if found := foundID.FindStringSubmatch(m.Content.Text()); found != nil {
					id = found[1]
				}
			}
		}
	}
	failed := strings.Contains(last.Content.Text(), `"error"`)
	switch said := last.Content.Text(); {
	case strings.Contains(said, "permission_denied"):
		return use("request_access", `{"area": "calendar"}`)
	case id == "":
		return use("find_event", `{"title": "`+asked.FindStringSubmatch(request)[1]+`"}`)
	case last.Name == "cancel_event" && !failed:
		return chattest.Answer{Text: "It is cancelled."}
	}
	return use("cancel_event", `{"event_id": "`+id+`"}`)
}

// Promise: the example for language models runs: tools go to the model, its
// calls come back as tool messages of the conversation, its last word ends the
// episode, and the environment's reward is the score.
func TestLanguageModel(t *testing.T) {
	text, err := built()
	require.NoError(t, err, text)
	server := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if strings.HasSuffix(c.Path, "/models") {
			return chattest.Models("smollm2")
		}
		var messages []rl.Message
		c.Field(t, "messages", &messages)
		var tools []json.RawMessage
		c.Field(t, "tools", &tools)
		require.Len(t, tools, 18)
		return clerk(messages).Reply()
	})
	cfg, err := merit.LoadConfig(filepath.Join(testneeds.Root(), "examples", "toolbox", "rollout.yaml"),
		"environment.plugin="+filepath.Join(binaries, "toolbox"), "policy.plugin="+filepath.Join(binaries, "openai"), "policy.options.url="+server.URL,
		"rollout.members=2", "environment.options.kinds=[cancel_event]", "environment.options.things=12", "environment.options.shares={validation: 0.3, test: 0.3}",
		"environment.options.calls=[2, 2]", "environment.options.ids=0",
		"environment.options.errors.transient=0.3", "environment.options.errors.permission=0.5")
	require.NoError(t, err)
	s, err := merit.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	denied, calls := 0, 0
	_, err = s.Rollout(t.Context(), merit.RolloutOptions{}, func(e *rl.Trajectory) error {
		require.Equal(t, rl.StopTerminated, e.StopReason, e.Error)
		require.Equal(t, rl.RoleSystem, e.Messages[0].Role)
		answers := 0
		for _, m := range e.Messages {
			if m.Role == rl.RoleTool {
				require.Equal(t, "call_1", m.ToolCallID)
				denied += strings.Count(m.Content.Text(), "permission_denied")
				answers++
			}
		}
		require.Equal(t, float64(answers), e.Metrics["calls"])
		require.Equal(t, 1.0, e.Metrics["state_match"])
		require.Equal(t, 1.0, e.Metrics["call_match"])
		require.Zero(t, e.Metrics["empty_turns"])
		require.InDelta(t, 1-0.05*e.Metrics["errors"], e.Evaluation.Score, 1e-9)
		require.Contains(t, string(e.GroundTruth), `"cancel_event"`)
		calls += answers
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, denied)
	require.Greater(t, calls, 32)
}
