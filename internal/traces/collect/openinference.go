package collect

import (
	"cmp"
	"encoding/json"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// openInference reads a span of OpenInference, which Arize's instrumentations write,
// including those of smolagents and the OpenAI Agents SDK.
func (src *source) openInference(out *trace.Span) {
	switch kind := src.at.text("openinference.span.kind"); kind {
	case "LLM":
		src.openInferenceCall(out)
	case "TOOL":
		src.openInferenceTool(out)
	case "RETRIEVER", "EMBEDDING", "RERANKER":
		src.search(out, strings.ToLower(kind))
	case "AGENT":
		src.content(out)
		out.Kind = trace.KindContent
		out.Name = cmp.Or(out.Agent, out.Name)
	default:
		src.content(out)
	}
}

func (src *source) openInferenceCall(out *trace.Span) {
	at := src.at
	given, said := &conversation{}, &conversation{}
	given.openInference(at.list("llm.input_messages"), rl.RoleUser)
	said.openInference(at.list("llm.output_messages"), rl.RoleAssistant)
	src.think(said)
	// Without messages, use the library's own form.
	if v := at.take("input.value"); len(given.messages) == 0 && v != nil && !given.read(document(v), rl.RoleUser) {
		given.add(message{Role: rl.RoleUser, Content: quoted(text(v))})
	}
	if v := at.take("output.value"); len(said.messages) == 0 && v != nil && !said.read(document(v), rl.RoleAssistant) {
		said.add(message{Role: rl.RoleAssistant, Content: quoted(text(v))})
	}
	if len(said.messages) == 1 && said.messages[0].Content.Text() == "" && len(said.messages[0].ToolCalls) == 0 {
		said.refused(document(at.all["output.value"]))
	}
	at.take("input.mime_type", "output.mime_type", "llm.token_count.total")
	p := &trace.Prompt{Model: src.model("llm.request.model_name", "llm.model_name"), Messages: given.messages}
	p.Answer, p.Others = split(said.messages)
	p.Finish = finish(cmp.Or(at.text("llm.finish_reason"), said.finish))
	p.Usage = src.usage("llm.token_count.prompt", "gen_ai.usage.input_tokens", "llm.token_count.completion", "gen_ai.usage.output_tokens")
	p.Tools = src.tools()
	var settings map[string]any
	if v := document(at.all["llm.invocation_parameters"]); v != nil && strictjson.Unmarshal(v, &settings) == nil {
		at.read["llm.invocation_parameters"] = true
		if asked, _ := settings["model"].(string); asked != "" && asked != p.Model && at.has("llm.model_name") {
			p.Model, at.read["llm.model_name"] = asked, false // the model that answered stays an attribute
		}
		for _, known := range []string{"messages", "tools", "model"} {
			delete(settings, known)
		}
		p.Settings = nonempty(settings)
	}
	if p.Messages == nil {
		p.Messages = []rl.Message{}
	}
	src.refusal(said)
	out.Kind, out.Prompt, out.Name = trace.KindPrompt, p, cmp.Or(p.Model, out.Name)
}

// refused reads a refusal from an answer in the API's form, because the convention has no
// attribute for it.
func (c *conversation) refused(answer json.RawMessage) {
	var api struct {
		Choices []struct {
			Message struct {
				Refusal string `json:"refusal"`
			} `json:"message"`
		} `json:"choices"`
	}
	if strictjson.Unmarshal(answer, &api) == nil && len(api.Choices) > 0 && api.Choices[0].Message.Refusal != "" {
		c.refusal = api.Choices[0].Message.Refusal
		c.messages[0].Content = rl.Text(c.refusal)
	}
}

// refusal notes that an answer is a refusal in the attributes of the span.
func (src *source) refusal(said *conversation) {
	if said.refusal != "" {
		src.at.all["refusal"] = &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: said.refusal}}
	}
}

func (c *conversation) openInference(items []*attributes, role string) {
	for _, item := range items {
		m := message{Role: cmp.Or(item.text("message.role"), role), Name: item.text("message.name"), ToolCallID: item.text("message.tool_call_id"), Content: quoted(item.text("message.content"))}
		for _, k := range item.list("message.tool_calls") {
			m.ToolCalls = append(m.ToolCalls, call{
				ID: k.text("tool_call.id"), Name: k.text("tool_call.function.name"), Arguments: quoted(k.text("tool_call.function.arguments")),
			})
		}
		if contents := item.list("message.contents"); len(contents) > 0 && m.Content == nil {
			m.Content = c.contents(contents)
		}
		c.add(m)
	}
}

// contents returns the parts of a message; a single text is returned as that text.
func (c *conversation) contents(items []*attributes) json.RawMessage {
	var parts []json.RawMessage
	for _, item := range items {
		kind, said := item.text("message_content.type"), item.text("message_content.text")
		switch {
		case kind == "reasoning" || kind == "thinking":
			c.think(said)
		case kind == "text" || kind == "":
			if len(items) == 1 {
				return quoted(said)
			}
			parts = append(parts, textPart(said))
		case item.has("message_content.image.image.url"):
			parts = append(parts, mustMarshal(map[string]any{"type": "image_url", "image_url": map[string]string{"url": item.text("message_content.image.image.url")}}))
		default:
			parts = append(parts, mustMarshal(map[string]string{"type": kind, "text": said}))
		}
	}
	if parts == nil {
		return nil
	}
	return mustMarshal(parts)
}

// search reads a span that looks for texts: its text is what it found, or else what it
// was given. It leaves out vectors.
func (src *source) search(out *trace.Span, kind string) {
	at := src.at
	var found []string
	for _, key := range []string{"retrieval.documents", "reranker.output_documents", "embedding.embeddings"} {
		for _, item := range at.list(key) {
			text, score := item.text("document.content", "embedding.text"), item.text("document.score")
			if text != "" && score != "" {
				text += " (" + score + ")"
			}
			if text != "" {
				found = append(found, text)
			}
		}
	}
	for _, key := range []string{"gen_ai.retrieval.documents", "gen_ai.memory.records"} {
		var records []struct {
			Content json.RawMessage `json:"content"`
		}
		if text := document(at.all[key]); text == nil || strictjson.Unmarshal(text, &records) != nil {
			continue
		}
		for _, r := range records {
			if text := loose(r.Content); text != "" {
				found = append(found, text)
			}
		}
	}
	if given, _ := src.conversations(); len(found) == 0 {
		for _, m := range given.messages {
			found = append(found, m.Content.Text())
		}
	}
	if out.Text = strings.Join(found, "\n"); out.Text == "" {
		src.content(out)
	}
	if out.Text == "" {
		out.Text = at.text("reranker.query", "gen_ai.retrieval.query.text", "gen_ai.memory.query.text")
	}
	out.Kind, out.Name = trace.KindContent, cmp.Or(at.text("embedding.model_name", "reranker.model_name", "gen_ai.request.model"), out.Name)
	at.all["operation"] = &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: kind}}
}

func (src *source) openInferenceTool(out *trace.Span) {
	at := src.at
	out.Kind, out.Name = trace.KindTool, cmp.Or(at.text("tool.name"), out.Name)
	out.Tool = &trace.Tool{CallID: at.text("tool_call.id", "tool.id"), Arguments: arguments(at.text("input.value")), Result: at.text("output.value")}
	at.take("input.mime_type", "output.mime_type", "tool.description", "tool.parameters")
}

// arguments extracts the keyword arguments from a Python call in the form that the
// instrumentation of smolagents writes.
func arguments(given string) string {
	var python struct {
		Args   []json.RawMessage          `json:"args"`
		Kwargs map[string]json.RawMessage `json:"kwargs"`
		Clean  *bool                      `json:"sanitize_inputs_outputs"`
	}
	if strictjson.Unmarshal([]byte(given), &python) != nil || python.Clean == nil || len(python.Args) > 0 {
		return given
	}
	return string(mustMarshal(python.Kwargs))
}
