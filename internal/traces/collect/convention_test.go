package collect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

func attribute(key string, value any) *common.KeyValue {
	v := &common.AnyValue{}
	switch x := value.(type) {
	case string:
		v.Value = &common.AnyValue_StringValue{StringValue: x}
	case int:
		v.Value = &common.AnyValue_IntValue{IntValue: int64(x)}
	case float64:
		v.Value = &common.AnyValue_DoubleValue{DoubleValue: x}
	case []string:
		list := &common.ArrayValue{}
		for _, s := range x {
			list.Values = append(list.Values, attribute("", s).Value)
		}
		v.Value = &common.AnyValue_ArrayValue{ArrayValue: list}
	}
	return &common.KeyValue{Key: key, Value: v}
}

// one is what a span of these attributes and events comes to.
func one(t *testing.T, events []*otlp.Span_Event, pairs ...any) collect.Batch {
	t.Helper()
	s := &otlp.Span{TraceId: make([]byte, 16), SpanId: []byte("12345678"), Name: "n", StartTimeUnixNano: 1e18, EndTimeUnixNano: 2e18, Events: events}
	s.TraceId[0] = 1
	for i := 0; i < len(pairs); i += 2 {
		s.Attributes = append(s.Attributes, attribute(pairs[i].(string), pairs[i+1]))
	}
	b := collect.Read(&service.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{ScopeSpans: []*otlp.ScopeSpans{{Spans: []*otlp.Span{s}}}}}})
	require.Empty(t, b.Refused)
	return b
}

func event(name string, pairs ...any) *otlp.Span_Event {
	e := &otlp.Span_Event{Name: name, TimeUnixNano: 15e17}
	for i := 0; i < len(pairs); i += 2 {
		e.Attributes = append(e.Attributes, attribute(pairs[i].(string), pairs[i+1]))
	}
	return e
}

// conversation is a call in words: role: text [calls] {id of the call}.
func conversation(p *trace.Prompt) (lines []string) {
	for _, m := range append(append([]rl.Message(nil), p.Messages...), answers(p)...) {
		line := m.Role + ": " + m.Content.Text()
		for _, c := range m.ToolCalls {
			line += " [" + c.ID + " " + c.Function.Name + c.Function.Arguments + "]"
		}
		if m.ToolCallID != "" {
			line += " {" + m.ToolCallID + "}"
		}
		lines = append(lines, line)
	}
	return lines
}

func answers(p *trace.Prompt) []rl.Message {
	if p.Answer == nil {
		return nil
	}
	return append([]rl.Message{*p.Answer}, p.Others...)
}

// Promise: a call of a model is the same call in the words of every version of
// the conventions.
func TestEveryConvention(t *testing.T) {
	want := []string{"system: Be brief.", "user: Tea?", `assistant:  [c1 price{"item":"tea"}]`, "tool: 3.5 {c1}", "assistant: 3.5 euros"}
	chat := []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.request.temperature", 0.5,
		"gen_ai.usage.input_tokens", 9, "gen_ai.usage.output_tokens", 4, "gen_ai.response.finish_reasons", []string{"stop"}}
	const instructions = `[{"type":"text","content":"Be brief."}]`
	const input = `[{"role":"user","parts":[{"type":"text","content":"Tea?"}]},
		{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"price","arguments":{"item":"tea"}}]},
		{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":3.5}]}]`
	const output = `[{"role":"assistant","parts":[{"type":"text","content":"3.5 euros"}],"finish_reason":"stop"}]`
	const openAI = `[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Tea?"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"price","arguments":"{\"item\":\"tea\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"3.5"}]`
	for name, b := range map[string]collect.Batch{
		"1.37, attributes": one(t, nil, append(chat, "gen_ai.system_instructions", instructions, "gen_ai.input.messages", input, "gen_ai.output.messages", output)...),
		"1.37, an event": one(t, []*otlp.Span_Event{event("gen_ai.client.inference.operation.details",
			"gen_ai.system_instructions", instructions, "gen_ai.input.messages", input, "gen_ai.output.messages", output)}, chat...),
		"1.28, events": one(t, []*otlp.Span_Event{
			event("gen_ai.system.message", "content", "Be brief."), event("gen_ai.user.message", "content", "Tea?"),
			event("gen_ai.assistant.message", "tool_calls", `[{"id":"c1","type":"function","function":{"name":"price","arguments":"{\"item\":\"tea\"}"}}]`),
			event("gen_ai.tool.message", "content", "3.5", "id", "c1"), event("gen_ai.choice", "index", 0, "finish_reason", "stop", "message", `{"role":"assistant","content":"3.5 euros"}`),
		}, chat...),
		"1.27, events": one(t, []*otlp.Span_Event{
			event("gen_ai.content.prompt", "gen_ai.prompt", openAI), event("gen_ai.content.completion", "gen_ai.completion", `[{"role":"assistant","content":"3.5 euros"}]`),
		}, chat...),
		"OpenLLMetry, numbered": one(t, nil, "llm.request.type", "chat", "gen_ai.request.model", "m", "gen_ai.request.temperature", 0.5,
			"gen_ai.usage.prompt_tokens", 9, "gen_ai.usage.completion_tokens", 4,
			"gen_ai.prompt.0.role", "system", "gen_ai.prompt.0.content", "Be brief.", "gen_ai.prompt.1.role", "user", "gen_ai.prompt.1.content", "Tea?",
			"gen_ai.prompt.2.role", "assistant", "gen_ai.prompt.2.tool_calls.0.id", "c1", "gen_ai.prompt.2.tool_calls.0.name", "price",
			"gen_ai.prompt.2.tool_calls.0.arguments", `{"item":"tea"}`, "gen_ai.prompt.3.role", "tool", "gen_ai.prompt.3.content", "3.5", "gen_ai.prompt.3.tool_call_id", "c1",
			"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "3.5 euros", "gen_ai.completion.0.finish_reason", "stop"),
		"OpenInference": one(t, nil, "openinference.span.kind", "LLM", "llm.model_name", "m", "llm.invocation_parameters", `{"model":"m","temperature":0.5}`,
			"llm.token_count.prompt", 9, "llm.token_count.completion", 4, "llm.finish_reason", "stop",
			"llm.input_messages.0.message.role", "system", "llm.input_messages.0.message.content", "Be brief.",
			"llm.input_messages.1.message.role", "user", "llm.input_messages.1.message.contents.0.message_content.type", "text",
			"llm.input_messages.1.message.contents.0.message_content.text", "Tea?", "llm.input_messages.2.message.role", "assistant",
			"llm.input_messages.2.message.tool_calls.0.tool_call.id", "c1", "llm.input_messages.2.message.tool_calls.0.tool_call.function.name", "price",
			"llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments", `{"item":"tea"}`,
			"llm.input_messages.3.message.role", "tool", "llm.input_messages.3.message.content", "3.5", "llm.input_messages.3.message.tool_call_id", "c1",
			"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.content", "3.5 euros"),
	} {
		require.Len(t, b.Spans, 1, name)
		p := b.Spans[0].Prompt
		require.Equal(t, want, conversation(p), name)
		require.Equal(t, &trace.Usage{PromptTokens: 9, CompletionTokens: 4}, p.Usage, name)
		require.JSONEq(t, `{"temperature":0.5}`, string(p.Settings), name)
		require.Equal(t, "m", p.Model, name)
		if name != "1.27, events" {
			require.Contains(t, []string{"stop", ""}, p.Finish, name)
		}
	}
}

// Promise: reasoning that was not said, and what an evaluator found it worth,
// are separate spans; an evaluation without a number is not a score.
func TestBesides(t *testing.T) {
	b := one(t, []*otlp.Span_Event{
		event("gen_ai.evaluation.result", "gen_ai.evaluation.name", "helpful", "gen_ai.evaluation.score.value", 0.75, "gen_ai.evaluation.explanation", "good"),
		event("gen_ai.evaluation.result", "gen_ai.evaluation.name", "safe", "gen_ai.evaluation.score.label", "yes"),
	}, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m",
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"yes"}]}]`)
	require.Len(t, b.Spans, 4)
	require.Equal(t, "yes", b.Spans[0].Prompt.Answer.Content.Text())
	require.Equal(t, trace.KindReasoning, b.Spans[1].Kind)
	require.Equal(t, "hm", b.Spans[1].Text)
	require.Equal(t, 0.75, *b.Spans[2].Reward.Score)
	require.Equal(t, b.Spans[0].ID, b.Spans[2].Reward.Of)
	require.Nil(t, b.Spans[3].Reward.Score)
	require.Equal(t, "invalid", b.Spans[3].Reward.Outcome)
}

// Promise: tools and agents' work have their own kinds; what says nothing of an
// agent is counted and not kept.
func TestOtherKinds(t *testing.T) {
	b := one(t, nil, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "price", "gen_ai.tool.call.id", "c1",
		"gen_ai.tool.call.arguments", `{"item":"tea"}`, "gen_ai.tool.call.result", "3.5", "merit.task", "shop", "merit.ground_truth", 6.25)
	require.Equal(t, &trace.Tool{CallID: "c1", Arguments: `{"item":"tea"}`, Result: "3.5"}, b.Spans[0].Tool)
	require.Equal(t, "shop", b.About[0].Task)
	require.Equal(t, "6.25", string(b.About[0].Metadata[trace.MetaGroundTruth]))

	b = one(t, nil, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "clerk", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"6.25"}]}]`)
	require.Equal(t, trace.KindContent, b.Spans[0].Kind)
	require.Equal(t, "clerk", b.Spans[0].Agent)
	require.Equal(t, "6.25", b.Spans[0].Text)
	require.Equal(t, "clerk", b.About[0].Agent)

	b = one(t, nil, "traceloop.span.kind", "tool", "traceloop.entity.name", "add", "traceloop.entity.input", `{"a":1}`, "traceloop.entity.output", "2")
	require.Equal(t, "add", b.Spans[0].Name)
	require.Equal(t, "2", b.Spans[0].Tool.Result)

	b = one(t, nil, "http.request.method", "GET", "url.full", "http://example.org")
	require.Empty(t, b.Spans)
	require.Equal(t, 1, b.Silent)
}

// Promise: a name that is too long is cut, and costs nobody the span.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("ä", 200)
	b := one(t, nil, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", long, "gen_ai.agent.name", long, "merit.task", long)
	require.Equal(t, long[:256], b.Spans[0].Name)
	require.Equal(t, long[:256], b.Spans[0].Agent)
	require.Equal(t, long[:256], b.About[0].Task)
}

// Promise: what conventions 0.1.0 renamed is the same in the words of either version, and its
// new operations are not taken for calls of a model. The names are those of the changelog of
// github.com/open-telemetry/semantic-conventions-genai, v0.1.0.
func TestRenamed(t *testing.T) {
	for _, names := range [][2]string{{"gen_ai.usage.cache_creation.input_tokens", "older"}, {"gen_ai.usage.cache_write.input_tokens", "0.1.0"}} {
		b := one(t, nil, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", names[0], 7)
		require.Equal(t, "7", string(b.Spans[0].Attributes["gen_ai.usage.cache_write.input_tokens"]), names[1])
		require.NotContains(t, b.Spans[0].Attributes, "gen_ai.usage.cache_creation.input_tokens")
	}
	for _, name := range []string{"gen_ai.workflow.name", "gen_ai.agent.name"} {
		b := one(t, nil, "gen_ai.operation.name", "invoke_workflow", name, "triage")
		require.Equal(t, "triage", b.Spans[0].Agent, name)
		require.Equal(t, trace.KindContent, b.Spans[0].Kind)
	}
	for _, name := range []string{"gen_ai.request.top_k", "gen_ai.retrieval.top_k"} {
		b := one(t, nil, "gen_ai.operation.name", "retrieval", name, 4, "gen_ai.retrieval.documents", `[{"id":"d","score":0.5,"content":"Tea costs 3.5."}]`)
		require.Equal(t, "Tea costs 3.5.", b.Spans[0].Text)
		require.Equal(t, "4", string(b.Spans[0].Attributes["gen_ai.retrieval.top_k"]), name)
	}
	b := one(t, nil, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.request.top_k", 4, "gen_ai.request.reasoning.level", "high")
	require.JSONEq(t, `{"top_k":4,"reasoning_effort":"high"}`, string(b.Spans[0].Prompt.Settings))
	b = one(t, nil, "gen_ai.operation.name", "plan", "gen_ai.agent.name", "triage")
	require.Equal(t, trace.KindContent, b.Spans[0].Kind)
	b = one(t, nil, "gen_ai.operation.name", "search_memory", "gen_ai.memory.query.text", "diet", "gen_ai.memory.records", `[{"id":"m1","content":"No nuts."}]`)
	require.Equal(t, trace.KindContent, b.Spans[0].Kind)
	require.Equal(t, "No nuts.", b.Spans[0].Text)
	require.Equal(t, `"search_memory"`, string(b.Spans[0].Attributes["operation"]))
	both := one(t, nil, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.usage.cache_creation.input_tokens", 7, "gen_ai.usage.cache_write.input_tokens", 8)
	require.Equal(t, "8", string(both.Spans[0].Attributes["gen_ai.usage.cache_write.input_tokens"]))
	require.Equal(t, "7", string(both.Spans[0].Attributes["gen_ai.usage.cache_creation.input_tokens"]))
}
