package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// answered is an answer, and the message of message_start.
type answered struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Model      string          `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason string          `json:"stop_reason"`
	Stop       json.RawMessage `json:"stop_sequence"`
	Details    json.RawMessage `json:"stop_details"` // why a model refused
	Context    json.RawMessage `json:"context_management"`
	Usage      usage           `json:"usage"`
	Error      json.RawMessage `json:"error"`
}

// usage are tokens. Those of the input are three separate counts. In a stream, each
// count replaces those before.
type usage struct {
	Input  *int64 `json:"input_tokens"`
	Output *int64 `json:"output_tokens"`
	Read   *int64 `json:"cache_read_input_tokens"`
	Wrote  *int64 `json:"cache_creation_input_tokens"`
}

// finishes are the reasons to stop in OpenAI's words. Others stay unchanged.
var finishes = map[string]string{
	"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "model_context_window_exceeded": "length",
}

// readAnswer assembles an answer; see dialect.API.
func readAnswer(body []byte, stream bool) (a dialect.Answer, complete bool) {
	if stream {
		s := assembly{}
		dialect.Events(body, func(data []byte) { s.event(&a, data) })
		return a, s.finish(&a)
	}
	var whole answered
	complete = a.Read(body, &whole)
	whole.onto(&a)
	blocks, err := readBlocks(whole.Content, &a.Unknown)
	if err != nil && len(whole.Content) > 0 {
		a.Broken = cmp.Or(a.Broken, "the content of the answer is not a list of blocks: "+err.Error())
	}
	if whole.Type == "message" || len(blocks) > 0 {
		say(&a, whole.Role, blocks, whole.StopReason)
	}
	return a, complete && err == nil && whole.Type == "message"
}

// onto adds what is beside the content to an answer.
func (m *answered) onto(a *dialect.Answer) {
	a.ID, a.Model = cmp.Or(a.ID, m.ID), cmp.Or(a.Model, m.Model)
	a.Failure = cmp.Or(dialect.ErrorText(m.Error), a.Failure)
	note := func(name string, value json.RawMessage) {
		if len(value) > 0 && string(value) != "null" {
			a.Note(name, value)
		}
	}
	if m.StopReason != "" {
		note("stop_reason", trace.JSON(m.StopReason))
	}
	note("stop_sequence", m.Stop)
	note("stop_details", m.Details)
	note("context_management", m.Context)
	m.Usage.onto(a)
}

// onto adds the counts to an answer: tokens that the server had in its cache are part of
// the prompt, too.
func (u *usage) onto(a *dialect.Answer) {
	count := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return max(*n, 0)
	}
	if u.Input == nil && u.Output == nil {
		return
	}
	prompt := count(u.Input) + count(u.Read) + count(u.Wrote)
	a.Usage = &trace.Usage{PromptTokens: prompt, CompletionTokens: count(u.Output)}
	for name, n := range map[string]*int64{trace.AttrCacheRead: u.Read, "cache_creation_tokens": u.Wrote} {
		if n != nil {
			a.Note(name, trace.JSON(*n))
		}
	}
}

// say makes the blocks the answer's only choice.
func say(a *dialect.Answer, role string, blocks []block, stop string) {
	s := sorted(blocks)
	c := a.Choice(0)
	c.Role, c.Calls, c.Fields = cmp.Or(role, rl.RoleAssistant), s.calls, s.fields()
	if c.Finish = stop; finishes[stop] != "" {
		c.Finish = finishes[stop]
	}
	said := content(s.said)
	c.Text, c.Parts = []byte(said.Text()), said.Parts()
	c.Null = len(s.said) == 0
	for _, t := range s.thoughts {
		c.Thoughts = append(c.Thoughts, t.Thinking...)
	}
}

// assembly is an answer that comes as events.
type assembly struct {
	role, stop string
	usage      usage
	blocks     []growing
	said, done bool
}

// growing is a block with the pieces that came of it.
type growing struct {
	fields                 map[string]json.RawMessage
	text, thinking, signed []byte
	input                  []byte
	citations              []json.RawMessage
	other                  []json.RawMessage // deltas of unknown types
}

// event is an event of a stream.
type event struct {
	Type    string                     `json:"type"`
	Index   int                        `json:"index"`
	Message *answered                  `json:"message"`
	Block   map[string]json.RawMessage `json:"content_block"`
	Delta   json.RawMessage            `json:"delta"`
	Usage   usage                      `json:"usage"`
	Error   json.RawMessage            `json:"error"`
	Context json.RawMessage            `json:"context_management"`
}

// event adds an event to the answer. It ignores pings, and events of unknown types, which
// the API may add.
func (s *assembly) event(a *dialect.Answer, data []byte) {
	var e event
	if !a.ReadEvent(data, &e) {
		return
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			s.said, s.role = true, e.Message.Role
			s.usage.merge(e.Message.Usage)
			e.Message.onto(a)
		}
	case "content_block_start":
		if at := s.block(e.Index); at != nil {
			at.fields = e.Block
		}
	case "content_block_delta":
		if at := s.block(e.Index); at != nil {
			at.grow(e.Delta)
		}
	case "message_delta":
		var end answered
		if a.ReadEvent(e.Delta, &end) {
			s.stop, end.Context = cmp.Or(end.StopReason, s.stop), e.Context
			s.usage.merge(e.Usage)
			end.Usage = s.usage
			end.onto(a)
		}
	case "message_stop":
		s.done = true
	case "error":
		a.Failure = cmp.Or(dialect.ErrorText(e.Error), "the server reported an error without a message")
	}
}

// merge replaces the counts that a later event has.
func (u *usage) merge(later usage) {
	u.Input, u.Output = cmp.Or(later.Input, u.Input), cmp.Or(later.Output, u.Output)
	u.Read, u.Wrote = cmp.Or(later.Read, u.Read), cmp.Or(later.Wrote, u.Wrote)
}

// block returns the block with an index; nil if the index cannot be one.
func (s *assembly) block(index int) *growing {
	if index < 0 || index >= dialect.MostChoices {
		return nil
	}
	for len(s.blocks) <= index {
		s.blocks = append(s.blocks, growing{})
	}
	return &s.blocks[index]
}

// delta is a piece of a block.
type delta struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Partial   string          `json:"partial_json"`
	Citation  json.RawMessage `json:"citation"`
}

func (g *growing) grow(raw json.RawMessage) {
	var d delta
	if strictjson.Unmarshal(raw, &d) != nil {
		g.other = append(g.other, raw)
		return
	}
	switch d.Type {
	case "text_delta":
		g.text = append(g.text, d.Text...)
	case "thinking_delta":
		g.thinking = append(g.thinking, d.Thinking...)
	case "signature_delta":
		g.signed = append(g.signed, d.Signature...)
	case "input_json_delta":
		g.input = append(g.input, d.Partial...)
	case "citations_delta":
		g.citations = append(g.citations, d.Citation)
	default:
		g.other = append(g.other, raw)
	}
}

// finish makes the blocks the answer, and reports whether it is complete.
func (s *assembly) finish(a *dialect.Answer) (complete bool) {
	var blocks []block
	for i := range s.blocks {
		if s.blocks[i].fields == nil && len(s.blocks[i].text) == 0 && len(s.blocks[i].thinking) == 0 && len(s.blocks[i].input) == 0 {
			continue // no event was about this index
		}
		b := s.blocks[i].whole()
		a.Unknown.Add(b.Type, known)
		blocks = append(blocks, b)
	}
	if s.said || len(blocks) > 0 {
		say(a, s.role, blocks, s.stop)
	}
	if s.stop != "" && !s.done {
		a.Problems = append(a.Problems, "the stream ended without message_stop")
	}
	return s.said && a.Failure == "" && (s.done || s.stop != "")
}

// whole returns the block as an answer that is not a stream has it.
func (g *growing) whole() (b block) {
	if g.fields == nil {
		g.fields = map[string]json.RawMessage{"type": json.RawMessage(`"text"`)}
		if len(g.thinking) > 0 {
			g.fields["type"] = json.RawMessage(`"thinking"`)
		}
	}
	for name, pieces := range map[string][]byte{"text": g.text, "thinking": g.thinking, "signature": g.signed} {
		if len(pieces) > 0 {
			var before string
			_ = strictjson.Unmarshal(g.fields[name], &before) // what content_block_start had of it
			g.fields[name] = trace.JSON(before + string(pieces))
		}
	}
	for name, pieces := range map[string][]json.RawMessage{"citations": g.citations, "deltas": g.other} {
		if len(pieces) > 0 {
			g.fields[name] = trace.JSON(pieces)
		}
	}
	arguments := string(bytes.TrimSpace(g.input))
	if arguments != "" {
		g.fields["input"] = trace.JSON(arguments) // as text if it is not JSON
		if json.Valid(g.input) {
			g.fields["input"] = g.input
		}
	}
	b.raw = trace.JSON(g.fields)
	_ = strictjson.Unmarshal(b.raw, &b) // no block if a field has an unexpected form
	if arguments != "" {
		b.Input = json.RawMessage(arguments) // as the model wrote it
	}
	return b
}
