package proxy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Promise: the sessions that harnesses send are traces, and their sub-agents are branches of
// them, though the messages alone would say nothing.
func TestHarnesses(t *testing.T) {
	const session, other, sub = "74582997-cc91-4cd5-baee-676e581ca028", "9b2f0a52-0000-4cd5-baee-676e581ca029", "0c2f0a52-1111-4cd5-baee-676e581ca02a"
	type call struct {
		headers []string
		user    string // metadata.user_id
		trace   string
		kind    string
		parent  int // call number + 1
	}
	for name, calls := range map[string][]call{
		"Claude Code": {
			{[]string{"X-Claude-Code-Session-Id", session}, "", session, "", 0},
			{[]string{"X-Claude-Code-Session-Id", session, "X-Claude-Code-Agent-Id", "a1", "X-Claude-Code-Agent-Type", "Explore"}, "", session, "subagent", 1},
			{[]string{"X-Claude-Code-Session-Id", session, "X-Claude-Code-Agent-Id", "a2", "X-Claude-Code-Parent-Agent-Id", "a1"}, "", session, "subagent", 2},
			{[]string{"X-Claude-Code-Session-Id", session, "X-Claude-Code-Context-Compacted", "auto"}, "", session, "compaction", 1},
			{[]string{"X-Claude-Code-Session-Id", session, "X-Claude-Code-Request-Class", "auxiliary"}, "", session, "root", 0},
			{[]string{"X-Claude-Code-Session-Id", other}, "", other, "", 0},
		},
		"Claude Code of 2025": {
			{nil, "user_0123_account__session_" + session, session, "", 0},
			{nil, `{\"device_id\": \"d\", \"session_id\": \"` + other + `\"}`, other, "", 0},
			{nil, "user_0123_account__session_" + session, session, "root", 0},
		},
		"Codex": {
			{[]string{"Session-Id", session, "Thread-Id", session}, "", session, "", 0},
			{[]string{"Session-Id", session, "Thread-Id", sub, "X-Codex-Parent-Thread-Id", session, "X-Openai-Subagent", "collab_spawn"}, "", session, "subagent", 1},
			{[]string{"Conversation_id", other, "Session_id", other}, "", other, "", 0},
		},
		"opencode": {
			{[]string{"X-Session-Affinity", session}, "", session, "", 0},
			{[]string{"X-Session-Affinity", sub, "X-Parent-Session-Id", session}, "", session, "subagent", 1},
			{[]string{"X-Session-Affinity", other, "X-Parent-Session-Id", sub}, "", session, "subagent", 2},
			{[]string{"X-Session-Affinity", "default"}, "", "", "", 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, answers(messagesSaid))
			for i, c := range calls {
				s.post("/v1/messages", fmt.Sprintf(`{"metadata": {"user_id": "%s"}, "messages": [{"role": "user", "content": "question %d"}]}`, c.user, i), c.headers...)
			}
			spans := s.prompts()
			for i, c := range calls {
				if c.trace != "" {
					require.Equal(t, c.trace, spans[i].Trace, "call %d", i)
				}
				var parent string
				if c.parent > 0 {
					parent = spans[c.parent-1].ID
				}
				require.Equal(t, parent, spans[i].Parent, "call %d", i)
				if c.kind == "" {
					require.NotContains(t, spans[i].Attributes, trace.AttributeBranch)
					continue
				}
				require.Equal(t, `"`+c.kind+`"`, string(spans[i].Attributes["branch_kind"]), "call %d", i)
				require.Equal(t, `"`+spans[i].ID+`"`, string(spans[i].Attributes[trace.AttributeBranch]))
			}
		})
	}
}
