package collect

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// renamed are the attributes that GenAI conventions 0.1.0 renamed, by their older names.
var renamed = map[string]string{
	"gen_ai.workflow.name":                     "gen_ai.agent.name",
	"gen_ai.usage.cache_creation.input_tokens": "gen_ai.usage.cache_write.input_tokens",
}

// rename gives attributes the names of GenAI conventions 0.1.0, so that a query finds them
// whichever version recorded them. An older name beside its new one stays.
func (a *attributes) rename() {
	names := renamed
	if text(a.all["gen_ai.operation.name"]) == "retrieval" {
		names = maps.Clone(renamed)
		names["gen_ai.request.top_k"] = "gen_ai.retrieval.top_k"
	}
	for older, name := range names {
		if a.has(older) && !a.has(name) {
			a.all[name] = a.all[older]
			delete(a.all, older)
		}
	}
}

// works are the operations of an agent, and searches those that look something up, or
// change what is looked up.
var (
	works    = map[string]bool{"invoke_agent": true, "create_agent": true, "invoke_workflow": true, "handle_conversation_turn": true, "plan": true}
	searches = map[string]bool{
		"embeddings": true, "rerank": true, "retrieval": true,
		"search_memory": true, "create_memory": true, "update_memory": true, "upsert_memory": true, "delete_memory": true,
		"create_memory_store": true, "delete_memory_store": true,
	}
)

// genAI reads a span of OpenTelemetry's GenAI conventions, with messages in
// attributes (1.37 and later), in events of the span (earlier), or in numbered
// attributes (OpenLLMetry). It returns false for a span of another kind.
func (src *source) genAI(out *trace.Span) bool {
	at := src.at
	operation := at.text("gen_ai.operation.name")
	kind := strings.ToLower(cmp.Or(at.text("traceloop.span.kind"), at.text("llm.request.type")))
	switch {
	case operation == "execute_tool", operation == "" && (kind == "tool" || at.has("gen_ai.tool.name")):
		src.genAITool(out)
	case works[operation], operation == "" && (kind == "agent" || kind == "workflow" || kind == "task"):
		src.genAIWork(out)
	case searches[operation]:
		src.search(out, operation)
	case operation != "", kind == "chat", kind == "completion", at.has("gen_ai.request.model"):
		src.genAICall(out)
	default:
		return false
	}
	return true
}

func (src *source) genAITool(out *trace.Span) {
	at := src.at
	out.Kind = trace.KindTool
	out.Name = cmp.Or(at.text("gen_ai.tool.name"), at.text("traceloop.entity.name"), out.Name)
	out.Tool = &trace.Tool{
		CallID:    at.text("gen_ai.tool.call.id"),
		Arguments: at.text("gen_ai.tool.call.arguments", "traceloop.entity.input", "input.value"),
		Result:    at.text("gen_ai.tool.call.result", "traceloop.entity.output", "output.value"),
	}
	for _, event := range src.span.GetEvents() {
		e := attributesOf(event.GetAttributes())
		switch event.GetName() {
		case "gen_ai.tool.message":
			out.Tool.Arguments = cmp.Or(out.Tool.Arguments, e.text("content"))
			out.Tool.CallID = cmp.Or(out.Tool.CallID, e.text("id"))
		case "gen_ai.choice":
			out.Tool.Result = cmp.Or(out.Tool.Result, e.text("message", "content"))
		}
	}
}

// genAIWork reads the input and output of an agent.
func (src *source) genAIWork(out *trace.Span) {
	given, said := src.conversations()
	src.think(said)
	out.Name = cmp.Or(src.bare.Agent, src.at.text("traceloop.entity.name"), out.Name)
	out.Agent = src.bare.Agent
	for _, c := range []*conversation{said, given} {
		for _, m := range c.messages {
			if t := m.Content.Text(); t != "" {
				out.Text = t // the last message
			}
		}
		if out.Text != "" {
			break
		}
	}
	if out.Text == "" {
		src.content(out)
	}
	out.Kind = trace.KindContent // an agent span is in the timeline even without text
}

func (src *source) genAICall(out *trace.Span) {
	at := src.at
	given, said := src.conversations()
	src.think(said)
	p := &trace.Prompt{Model: src.model("gen_ai.request.model", "gen_ai.response.model"), Messages: given.messages}
	p.Answer, p.Others = split(said.messages)
	p.Finish = finish(cmp.Or(firstOf(at.take("gen_ai.response.finish_reasons")), said.finish))
	p.Usage = src.usage("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
	p.Settings = src.settings()
	p.Tools = src.tools()
	src.refusal(said)
	if p.Messages == nil {
		p.Messages = []rl.Message{}
	}
	out.Kind, out.Prompt = trace.KindPrompt, p
	out.Name = cmp.Or(p.Model, out.Name)
}

// model returns the model that a call asked for, or else the one that answered. A
// different one that answered stays among the attributes.
func (src *source) model(asked, answered string) string {
	model := src.at.text(asked)
	if model == "" || model == text(src.at.all[answered]) {
		return cmp.Or(src.at.text(answered), model)
	}
	return model
}

// conversations returns the input and the output of a model or an agent.
func (src *source) conversations() (given, said *conversation) {
	given, said = &conversation{}, &conversation{}
	at := src.at
	system := &conversation{}
	if v := at.take("gen_ai.system_instructions"); v != nil && !system.instructions(document(v)) {
		system.add(message{Role: rl.RoleSystem, Content: quoted(text(v))})
	}
	given.messages = append(given.messages, system.messages...)
	for _, key := range []string{"gen_ai.input.messages", "gen_ai.prompt", "traceloop.entity.input"} {
		if at.has(key) && len(given.messages) == len(system.messages) && given.read(document(at.all[key]), rl.RoleUser) {
			at.read[key] = true
		}
	}
	for _, key := range []string{"gen_ai.output.messages", "gen_ai.completion", "traceloop.entity.output"} {
		if at.has(key) && len(said.messages) == 0 && said.read(document(at.all[key]), rl.RoleAssistant) {
			at.read[key] = true
		}
	}
	given.numbered(at.list("gen_ai.prompt"), "")
	said.numbered(at.list("gen_ai.completion"), rl.RoleAssistant)
	src.events(given, said)
	return given, said
}

// instructions reads the system message, which is a bare list of parts.
func (c *conversation) instructions(text json.RawMessage) bool {
	var parts []part
	if len(text) == 0 || text[0] != '[' || strictjson.Unmarshal(text, &parts) != nil {
		return false
	}
	c.parts(rl.Message{Role: rl.RoleSystem}, parts)
	return true
}

// events reads messages from the events of a span.
func (src *source) events(given, said *conversation) {
	for _, event := range src.span.GetEvents() {
		at := attributesOf(event.GetAttributes())
		name := event.GetName()
		switch name {
		case "gen_ai.client.inference.operation.details":
			inner := &source{span: &otlp.Span{}, at: at}
			g, s := inner.conversations()
			given.join(g)
			said.join(s)
		case "gen_ai.content.prompt":
			given.read(document(at.take("gen_ai.prompt")), rl.RoleUser)
		case "gen_ai.content.completion":
			said.read(document(at.take("gen_ai.completion")), rl.RoleAssistant)
		case "gen_ai.choice":
			if body, ok := eventMessage(at, rl.RoleAssistant); ok {
				said.add(body)
			}
		default:
			role, ok := strings.CutSuffix(strings.TrimPrefix(name, "gen_ai."), ".message")
			if !ok || !strings.HasPrefix(name, "gen_ai.") {
				continue
			}
			if body, ok := eventMessage(at, role); ok {
				given.add(body)
			}
		}
	}
}

// eventMessage reads a message from an event: its attributes are the fields of the
// message, or one attribute has the whole message.
func eventMessage(at *attributes, role string) (m message, ok bool) {
	whole := document(at.take("message", "gen_ai.event.content"))
	if whole == nil || strictjson.Unmarshal(whole, &m) != nil {
		m = message{Content: quoted(at.text("content", "message"))}
		if v := document(at.take("content")); len(v) > 0 && v[0] == '[' {
			m.Content = v
		}
	}
	if m.Message != nil {
		m.Message.Finish = cmp.Or(m.Message.Finish, m.Finish)
		m = *m.Message
	}
	if calls := document(at.take("tool_calls")); calls != nil && m.ToolCalls == nil {
		_ = strictjson.Unmarshal(calls, &m.ToolCalls) // not a list: no calls
	}
	m.ToolCallID = cmp.Or(m.ToolCallID, at.text("id"))
	if role != rl.RoleTool {
		m.ToolCallID = ""
	}
	m.Finish = cmp.Or(m.Finish, at.text("finish_reason"))
	m.Role = cmp.Or(m.Role, at.text("role"), role)
	return m, true
}

// numbered reads OpenLLMetry's numbered attributes.
func (c *conversation) numbered(items []*attributes, role string) {
	for _, item := range items {
		m := message{Role: cmp.Or(item.text("role"), role, rl.RoleUser), Finish: item.text("finish_reason"), ToolCallID: item.text("tool_call_id")}
		m.Content = quoted(item.text("content"))
		if v := document(item.take("content")); len(v) > 0 && v[0] == '[' {
			m.Content = v
		}
		for _, k := range item.list("tool_calls") {
			m.ToolCalls = append(m.ToolCalls, call{ID: k.text("id"), Name: k.text("name"), Arguments: quoted(k.text("arguments"))})
		}
		c.add(m)
	}
}

func (c *conversation) join(o *conversation) {
	c.messages = append(c.messages, o.messages...)
	c.reasoning = append(c.reasoning, o.reasoning...)
	c.finish, c.refusal = cmp.Or(c.finish, o.finish), cmp.Or(c.refusal, o.refusal)
}

// split separates the answer from the other choices.
func split(said []rl.Message) (*rl.Message, []rl.Message) {
	if len(said) == 0 {
		return nil, nil
	}
	return &said[0], said[1:len(said):len(said)]
}

// finish translates a convention's finish reason to the API's.
func finish(word string) string {
	if word == "tool_call" {
		return "tool_calls"
	}
	return word
}

func firstOf(v *common.AnyValue) string {
	if list := v.GetArrayValue().GetValues(); len(list) > 0 {
		return text(list[0])
	}
	if v.GetArrayValue() != nil {
		return ""
	}
	return text(v)
}

// quoted returns a text as JSON, or nil if it is empty.
func quoted(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	out, _ := marshal(s) // a string
	return out
}
