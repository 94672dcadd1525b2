package proxy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
	"github.com/merit-rl/merit/internal/traces/proxy/lineage"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// record returns the spans of a call, the model's first, and what is known about its
// trace. Only the recorder calls it.
func record(tree *lineage.Tree, c *call) ([]trace.Span, trace.About) {
	request, secret := c.without(c.request)
	q, problem := c.api.Request(bytes.ToValidUTF8(request, replacement))
	a, complete := c.said()
	if secret {
		a.Prompt = nil // its tokens could reveal the secret
	}
	asked := c.lineage(&q)
	place := tree.Place(asked)
	prompts := c.prompts(place.Trace, &q, &a)
	main := &prompts[0]
	for i := range prompts {
		c.branch(&prompts[i], &place)
	}
	c.settle(main, &a, complete, problem)
	for i := range prompts[1:] {
		prompts[i+1].Status, prompts[i+1].Error = main.Status, main.Error
	}
	spans := append(prompts, c.results(place.Trace, tree.Results(&place, main.Prompt.Messages))...)
	tree.Answered(asked, &place, main.Prompt.Answer, a.ID, main.End)
	spans = append(spans, c.thoughts(place.Trace, main.Name, &a)...)
	for i := range spans {
		fit(&spans[i])
	}
	return spans, c.about(&place, main)
}

// lineage returns what decides the place of the call.
func (c *call) lineage(q *dialect.Request) *lineage.Call {
	session := identifier(q.Session)
	if len(session) < leastSession {
		session = ""
	}
	l := &lineage.Call{
		Span: c.span, Trace: cmp.Or(c.whose.trace, session), Agent: c.harness.agent, Boss: c.harness.boss, Compact: c.harness.compacted,
		Name: c.whose.agent, Previous: q.Previous, Scope: c.scope, Tools: q.Tools,
	}
	if len(q.Prompts) == 1 {
		l.Messages = q.Prompts[0]
	}
	return l
}

// branch notes the branch of a span. Attributes say what a parent alone does not.
func (c *call) branch(s *trace.Span, p *lineage.Place) {
	s.Parent = cmp.Or(c.whose.parent, p.Parent)
	if p.Branch != "" {
		s.Attributes[trace.AttributeBranch], s.Attributes["branch_kind"] = trace.JSON(p.Branch), trace.JSON(p.Kind)
	}
	for name, value := range map[string]string{"subagent": c.harness.agent, "subagent_type": c.harness.kind, "request_class": c.harness.class} {
		if value != "" {
			s.Attributes[name] = trace.JSON(value)
		}
	}
}

// results returns the spans of results of tools.
func (c *call) results(id string, results []lineage.Result) (spans []trace.Span) {
	for _, r := range results {
		s := c.spanOf(id, r.Asked.Span+"-"+short(r.ID), trace.KindTool, r.Asked.Function.Name)
		s.Parent, s.Start = r.Asked.Span, r.Asked.Since
		s.End = later(s.Start, c.start)
		s.Tool = &trace.Tool{CallID: r.ID, Arguments: r.Asked.Function.Arguments, Result: r.Text}
		spans = append(spans, s)
	}
	return spans
}

// thoughts returns the spans of what the model thought, one for each choice.
func (c *call) thoughts(id, name string, a *dialect.Answer) (spans []trace.Span) {
	for i := range a.Choices {
		if thoughts := string(a.Choices[i].Thoughts); thoughts != "" {
			s := c.spanOf(id, c.span+"-thoughts"+numbered(i), trace.KindReasoning, name)
			s.Parent, s.Text, s.Start = c.span, thoughts, later(c.start, c.first)
			s.End = later(s.Start, c.ended)
			spans = append(spans, s)
		}
	}
	return spans
}

var replacement = []byte("\uFFFD")

func (c *call) said() (a dialect.Answer, complete bool) {
	text, secret := c.without(c.plain())
	text = bytes.ToValidUTF8(text, replacement)
	a, complete = c.api.Answer(text, c.stream)
	for i := range a.Choices {
		c.forget(&a.Choices[i], secret)
	}
	return a, complete
}

// without returns a body with the call's secrets removed, and whether it had any.
func (c *call) without(body []byte) (clean []byte, held bool) {
	clean = body
	for _, secret := range c.secrets {
		clean = without(clean, secret)
	}
	return clean, !bytes.Equal(clean, body)
}

// forget removes the call's secrets from a choice, because a stream can split a
// secret over events. If held is true, it also removes the tokens, which could reveal it.
func (c *call) forget(s *dialect.Choice, held bool) {
	clean := func(text []byte) []byte {
		text, found := c.without(text)
		held = held || found
		return text
	}
	s.Text, s.Refusal, s.Thoughts, s.Parts = clean(s.Text), clean(s.Refusal), clean(s.Thoughts), clean(s.Parts)
	for i := range s.Fields {
		s.Fields[i].Value = clean(s.Fields[i].Value)
	}
	for i := range s.Calls {
		s.Calls[i].Function.Arguments = string(clean([]byte(s.Calls[i].Function.Arguments)))
	}
	if held {
		s.Tokens, s.Probs = nil, nil
	}
}

// prompts returns the spans of kind prompt: one, or one for each prompt of a
// completions call.
func (c *call) prompts(id string, q *dialect.Request, a *dialect.Answer) []trace.Span {
	settings, _ := json.Marshal(q.Settings) // valid JSON
	spans := make([]trace.Span, max(len(q.Prompts), 1))
	for i := range spans {
		s := c.spanOf(id, c.span+numbered(i), trace.KindPrompt, cmp.Or(q.Model, a.Model, c.api.Path))
		s.Prompt = &trace.Prompt{Model: cmp.Or(a.Model, q.Model), Messages: []rl.Message{}, Tools: q.Tools}
		if len(q.Settings) > 0 {
			s.Prompt.Settings = settings
		}
		if i < len(q.Prompts) && len(q.Prompts[i]) > 0 {
			s.Prompt.Messages = q.Prompts[i]
		}
		attribute(&s, "endpoint", c.api.Path)
		c.choices(&s, a, i*q.Choices, q.Choices, len(spans) == 1)
		if i < len(q.Tokens) {
			s.Prompt.PromptTokens = q.Tokens[i]
		} else if i == 0 {
			s.Prompt.PromptTokens = a.Prompt
		}
		spans[i] = s
	}
	spans[0].Prompt.Usage = a.Usage
	maps.Copy(spans[0].Attributes, a.Attributes)
	if n := unknown(q.Unknown, a.Unknown); n != nil {
		spans[0].Attributes["unknown_blocks"] = trace.JSON(n)
	}
	return spans
}

// unknown returns the sum of counts of unknown parts, or nil.
func unknown(counts ...dialect.Unknown) (sum dialect.Unknown) {
	for _, c := range counts {
		for kind, n := range c {
			if sum == nil {
				sum = dialect.Unknown{}
			}
			sum[kind] += n
		}
	}
	return sum
}

// choices adds the choices of one prompt to its span: n choices starting at index
// from, or all.
func (c *call) choices(s *trace.Span, a *dialect.Answer, from, n int, all bool) {
	for i := range a.Choices {
		said := &a.Choices[i]
		if !all && (said.Index < from || said.Index >= from+n) {
			continue
		}
		m := said.Message()
		if s.Prompt.Answer != nil {
			s.Prompt.Others = append(s.Prompt.Others, m)
			continue
		}
		s.Prompt.Answer, s.Prompt.Finish, s.Prompt.Tokens = &m, said.Finish, said.Sampled()
		if len(said.Refusal) > 0 {
			attribute(s, "refusal", string(said.Refusal))
		}
		if ids := said.Bare(); ids != nil {
			s.Attributes["token_ids"] = ids
		}
	}
}

// settle records how the call ended.
func (c *call) settle(s *trace.Span, a *dialect.Answer, complete bool, problem error) {
	if c.status != 0 {
		s.Attributes["http_status"] = json.RawMessage(strconv.Itoa(c.status))
	}
	if c.stream && !c.first.IsZero() {
		s.Attributes["first_byte_ms"] = json.RawMessage(strconv.FormatFloat(float64(c.first.Sub(c.start).Microseconds())/1000, 'f', 3, 64))
	}
	if c.whose.wrong != "" {
		attribute(s, "problem", c.whose.wrong)
	}
	for _, problem := range a.Problems {
		attribute(s, "problem", problem)
	}
	if c.partly != "" {
		attribute(s, "problem", c.partly)
	} else if problem != nil {
		attribute(s, "problem", "the request is not in "+c.api.Form+" form: "+problem.Error())
	}
	switch {
	case c.status >= http.StatusBadRequest && c.failure == "":
		text, _ := c.without(c.plain()) // before cutting: half a key would not be found
		s.Error = cmp.Or(a.Failure, trace.Cut(string(text), 1024), http.StatusText(c.status))
	case a.Failure != "":
		s.Error = a.Failure
	case complete || c.partly != "" && c.failure == "":
	default:
		s.Error = cmp.Or(c.failure, a.Broken, "the answer was truncated")
	}
	if s.Error != "" {
		s.Status = trace.StatusError
	}
	for _, secret := range c.secrets {
		s.Error = string(without([]byte(s.Error), secret))
	}
}

// about returns what the call tells about its trace. A trace is open while its last
// answer has tool calls or is a sub-agent's.
func (c *call) about(p *lineage.Place, s *trace.Span) trace.About {
	status := s.Status
	if a := s.Prompt.Answer; status == trace.StatusOK && (a != nil && len(a.ToolCalls) > 0 || p.Within) {
		status = trace.StatusOpen
	}
	return trace.About{Trace: p.Trace, Agent: c.whose.agent, Task: c.whose.task, Status: status, Metadata: c.whose.metadata}
}

func (c *call) spanOf(traceID, id string, kind trace.Kind, name string) trace.Span {
	return trace.Span{
		Trace: traceID, ID: id, Agent: c.whose.agent, Kind: kind, Name: name, Status: trace.StatusOK,
		Start: c.start.UTC(), End: later(c.start, c.ended), Attributes: map[string]json.RawMessage{},
	}
}

func numbered(i int) string {
	if i == 0 {
		return ""
	}
	return "-" + strconv.Itoa(i)
}

// short shortens an untrusted id for use in a span id.
func short(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:6])
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC()
	}
	return a.UTC()
}
