package mcp

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

var asked = regexp.MustCompile(`order (\d+)`)

// clerk is a language model of few words: it first forgets the number of the order, then looks
// the order up, and answers.
func clerk(messages []rl.Message) chattest.Answer {
	use := func(arguments string) chattest.Answer {
		return chattest.Answer{Finish: "tool_calls", ToolCalls: []rl.ToolCall{{ID: "call_1", Type: "function", Function: rl.FunctionCall{Name: "order", Arguments: arguments}}}}
	}
	number, results := "", 0
	for _, m := range messages {
		if found := asked.FindStringSubmatch(m.Content.Text()); m.Role == rl.RoleUser && found != nil && number == "" {
			number = found[1]
		}
		if m.Role == rl.RoleTool {
			results++
		}
	}
	switch results {
	case 0:
		return use(`{}`)
	case 1:
		return use(`{"number": "` + number + `"}`)
	}
	return chattest.Answer{Text: "It is so: yes"}
}

// Promise: the example for language models runs: the tools of the published server go to the
// model as OpenAI's API lists them, its calls come back as tool messages, one that does not fit
// the schema does not reach the server, and a replay without the server plays the same
// episodes.
func TestLanguageModel(t *testing.T) {
	python, binaries := testneeds.MCPPython(t), t.TempDir()
	build := exec.Command("go", "build", "-o", binaries, "./plugins/mcp", "./plugins/openai")
	build.Dir = testneeds.Root()
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	t.Setenv("MERIT_PLUGINS", binaries)
	model := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if strings.HasSuffix(c.Path, "/models") {
			return chattest.Models("smollm2")
		}
		var messages []rl.Message
		c.Field(t, "messages", &messages)
		var tools []json.RawMessage
		c.Field(t, "tools", &tools)
		require.Len(t, tools, 3)
		return clerk(messages).Reply()
	})
	recording := filepath.Join(t.TempDir(), "answers.jsonl")
	var played [2][]string
	for i, more := range [][]string{
		{"environment.mcp.mode=record", "environment.mcp.command=" + python, "environment.mcp.limits.start=1m"},
		{"environment.mcp.mode=replay", "environment.mcp.command=no-such-program"},
	} {
		cfg, err := merit.LoadConfig(filepath.Join(testneeds.Root(), "examples", "mcp", "rollout.yaml"), append(more,
			"policy.options.url="+model.URL, "environment.mcp.recording="+recording, "rewards=[{environment: true}]", "rollout.groups=4", "rollout.members=2")...)
		require.NoError(t, err)
		s, err := merit.Open(t.Context(), cfg)
		require.NoError(t, err)
		_, err = s.Rollout(t.Context(), merit.RolloutOptions{}, func(e *rl.Trajectory) error {
			require.Equal(t, rl.StopTerminated, e.StopReason, e.Error)
			require.Equal(t, map[string]float64{"calls": 1, "tool_errors": 0, "invalid_calls": 1, "not_recorded": 0}, map[string]float64(e.Metrics))
			var said []string
			for _, m := range e.Messages {
				if m.Role == rl.RoleTool {
					require.Equal(t, "call_1", m.ToolCallID)
					said = append(said, m.Content.Text())
				}
			}
			require.Len(t, said, 2)
			require.Contains(t, said[0], "invalid_arguments: ")
			require.Regexp(t, `^order 100\d: `, said[1])
			played[i] = append(played[i], said...)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	require.Equal(t, played[0], played[1])
	require.Len(t, played[0], 16)
}
