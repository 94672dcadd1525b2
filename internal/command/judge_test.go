package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/judge/agreement"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// Promise: merit judge check prints every figure with its interval and a sentence, also
// as JSON.
func TestJudgeCheck(t *testing.T) {
	testneeds.NotShort(t)
	shown := regexp.MustCompile(`(?s)<trajectory id="(\d+)">.*?quality (\d)`)
	server := chattest.New(t, 0, chattest.Judged(func(c chattest.Call) chattest.Reply {
		var messages []rl.Message
		c.Field(t, "messages", &messages)
		var entries []string
		for _, m := range shown.FindAllStringSubmatch(messages[1].Content.Text(), -1) {
			entries = append(entries, fmt.Sprintf(`"%s":{"score":0.%s}`, m[1], m[2]))
		}
		return chattest.Answer{Text: "{" + strings.Join(entries, ",") + "}", Prompt: 100}.Reply()
	}))
	dir := t.TempDir()
	config, data := filepath.Join(dir, "judge.yaml"), filepath.Join(dir, "labelled.jsonl")
	require.NoError(t, os.WriteFile(config, []byte("rewards: [{judge: {server: {url: '"+server.URL+"', model: small}}}]\n"), 0o644))
	var lines strings.Builder
	for g := range 12 {
		for q := range 2 {
			fmt.Fprintf(&lines, `{"group":"%d","label":%d,"messages":[{"role":"user","content":"task %d"},{"role":"assistant","content":"quality %d"}]}`+"\n", g, q, g, q)
		}
	}
	require.NoError(t, os.WriteFile(data, []byte(lines.String()), 0o644))

	c := newConsole()
	require.Zero(t, c.Run(t.Context(), []string{"judge", "check", "-q", "-c", config, "--data", data}), c.err.String())
	require.Equal(t, `judge             judge: small, ruler
groups            12 of 24 trajectories
Kendall's τ       1.00  [0.52, 1.00] of 12 groups
best is best      100 %  [76 %, 100 %] of 12 groups, 50 % by chance
kept reversed     100 %  [76 %, 100 %] of 12 pairs
first shown wins  50 %  [30 %, 70 %] of 24 pairs, 50 % is unbiased
asked             24 questions, 0 of them twice; 0 answers were cached
tokens            2400 + 0
trust: Its order mostly agrees with the labels: you can train on it with data like this.
`, c.out.String())

	c = newConsole()
	require.Zero(t, c.Run(t.Context(), []string{"judge", "check", "-q", "--json", "-c", config, "--data", data}), c.err.String())
	var results []struct {
		Tau     agreement.Estimate `json:"kendall_tau"`
		Verdict agreement.Verdict  `json:"verdict"`
	}
	require.NoError(t, json.Unmarshal(c.out.Bytes(), &results))
	require.Equal(t, agreement.Trust, results[0].Verdict)
	require.Equal(t, 1.0, results[0].Tau.Value)
}
