// Package tracestest creates traces for tests and benchmarks of pages: any number of
// realistic traces, always with the same bytes.
package tracestest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Begin is the start of the first trace; each further one starts half a minute
// later.
var Begin = time.Date(2026, time.November, 1, 8, 0, 0, 0, time.UTC)

// Agents lists the agents of the traces, in turn.
var Agents = []string{"planner", "solver", "critic"}

// ID returns the id of trace number i.
func ID(i int) string { return fmt.Sprintf("trace-%06d", i) }

// Spans returns the spans of trace number i: a call that requests a tool, the tool, a
// second call with the answer, and rewards. In each fifth trace the reward "quality"
// timed out, and each seventh trace ended in an error.
func Spans(i int) ([]trace.Span, trace.About) {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	agent, start := Agents[i%len(Agents)], Begin.Add(time.Duration(i)*30*time.Second)
	a, b := r.IntN(90)+10, r.IntN(90)+10
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	span := func(id string, kind trace.Kind, name string, from, to int) trace.Span {
		return trace.Span{Trace: ID(i), ID: id, Agent: agent, Kind: kind, Name: name, Start: at(from), End: at(to), Status: trace.StatusOK}
	}
	question := []rl.Message{{Role: rl.RoleSystem, Content: rl.Text("Use the tool for arithmetic, then say the number.")}, {Role: rl.RoleUser, Content: rl.Text(fmt.Sprintf("What is %d * %d?", a, b))}}
	asks := rl.Message{Role: rl.RoleAssistant, ToolCalls: []rl.ToolCall{{ID: "call_1", Type: "function", Function: rl.FunctionCall{Name: "multiply", Arguments: fmt.Sprintf(`{"a": %d, "b": %d}`, a, b)}}}}
	given := rl.Message{Role: rl.RoleTool, ToolCallID: "call_1", Content: rl.Text(fmt.Sprint(a * b))}
	first, tool, second := span("1", trace.KindPrompt, "qwen3-4b", 0, 420), span("2", trace.KindTool, "multiply", 430, 440), span("3", trace.KindPrompt, "qwen3-4b", 450, 900+r.IntN(900))
	tool.Parent = "1"
	tool.Tool = &trace.Tool{CallID: "call_1", Arguments: asks.ToolCalls[0].Function.Arguments, Result: fmt.Sprint(a * b)}
	first.Prompt = &trace.Prompt{Model: "qwen3-4b", Messages: question, Answer: &asks, Finish: "tool_calls", Usage: &trace.Usage{PromptTokens: 48, CompletionTokens: 19}}
	second.Prompt = &trace.Prompt{Model: "qwen3-4b", Messages: append(question[:2:2], asks, given), Answer: &rl.Message{Role: rl.RoleAssistant, Content: rl.Text(fmt.Sprintf("%d * %d is %d.", a, b, a*b))}, Finish: "stop"}
	about := trace.About{Trace: ID(i), Agent: agent, Task: fmt.Sprintf("multiply-%02d", r.IntN(100)), Status: trace.StatusOK, Metadata: map[string]json.RawMessage{"session": json.RawMessage(fmt.Sprint(i / 100))}}
	if i%7 == 6 {
		second.Status, second.Error, second.Prompt.Answer, about.Status = trace.StatusError, "the server answered 503", nil, trace.StatusError
	}
	spans := []trace.Span{first, tool, second}
	used, quality := span("4", trace.KindReward, "tool-use", 2000, 2000), span("5", trace.KindReward, "quality", 2100, 2100)
	used.Reward = &trace.Reward{Of: "2", Outcome: "scored", Score: number([]float64{1, 1, 1, -0.5, -1}[r.IntN(5)])}
	quality.Reward = &trace.Reward{Outcome: "scored", Score: number(float64(r.IntN(1001)) / 1000), Digest: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"}
	if i%5 == 4 {
		quality.Reward.Outcome, quality.Reward.Score = "timeout", nil
	}
	return append(spans, used, quality), about
}

func number(x float64) *float64 { return &x }

// Fill puts traces number 0 to n - 1 into a sink, in batches.
func Fill(t testing.TB, sink trace.Sink, n int) { FillEach(t, sink, n, 1) }

// FillEach puts every step-th trace into a sink, up to number n - 1.
func FillEach(t testing.TB, sink trace.Sink, n, step int) {
	t.Helper()
	const batch = 500
	for from := 0; from < n; from += batch * step {
		var spans []trace.Span
		var about []trace.About
		for i := from; i < min(from+batch*step, n); i += step {
			s, a := Spans(i)
			spans, about = append(spans, s...), append(about, a)
		}
		require.NoError(t, sink.Put(t.Context(), spans, about))
	}
}
