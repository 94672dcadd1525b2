package redact

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Span returns s with its secrets blanked, in all of its texts and attributes.
// Where something of a call was blanked, the ids and texts of the tokens that
// said it are left out too: they could be read back.
func (r *Redactor) Span(s trace.Span) trace.Span {
	s.Agent, s.Name = r.name(s.Agent), r.name(s.Name)
	s.Error, s.Text = r.long(s.Error), r.long(s.Text)
	s.Attributes = r.fields(s.Attributes)
	if s.Prompt != nil {
		var said bool
		if s.Prompt, said = r.prompt(s.Prompt); said {
			silence(&s)
		}
	}
	if s.Tool != nil {
		t := *s.Tool
		t.Arguments, t.Result = r.long(t.Arguments), r.long(t.Result)
		s.Tool = &t
	}
	if s.Reward != nil {
		w := *s.Reward
		w.By, w.Result = r.name(w.By), r.result(w.Result)
		s.Reward = &w
	}
	if s.Coordination != nil {
		c := *s.Coordination
		c.For = r.name(c.For)
		s.Coordination = &c
	}
	return s
}

// About returns a with its secrets blanked.
func (r *Redactor) About(a trace.About) trace.About {
	a.Agent, a.Task, a.Metadata = r.name(a.Agent), r.name(a.Task), r.fields(a.Metadata)
	return a
}

// Sink returns a sink that blanks what it is given and passes it on to next.
func (r *Redactor) Sink(next trace.Sink) trace.Sink { return sink{r, next} }

type sink struct {
	r    *Redactor
	next trace.Sink
}

// Put implements trace.Sink.
func (s sink) Put(ctx context.Context, spans []trace.Span, about []trace.About) error {
	clean := make([]trace.Span, len(spans))
	thought := map[[2]string]bool{} // calls whose thoughts held a secret
	for i := range spans {
		clean[i] = s.r.Span(spans[i])
		if clean[i].Kind == trace.KindReasoning && clean[i].Text != spans[i].Text {
			thought[[2]string{clean[i].Trace, clean[i].Parent}] = true
		}
	}
	for i := range clean {
		if clean[i].Prompt != nil && thought[[2]string{clean[i].Trace, clean[i].ID}] {
			silence(&clean[i]) // thoughts are among its tokens
		}
	}
	known := make([]trace.About, len(about))
	for i := range about {
		known[i] = s.r.About(about[i])
	}
	return s.next.Put(ctx, clean, known)
}

// prompt returns p with its secrets blanked, and whether what was said held one.
func (r *Redactor) prompt(p *trace.Prompt) (*trace.Prompt, bool) {
	out := *p
	out.Model, out.Finish = r.name(p.Model), r.name(p.Finish)
	given, said := false, false
	out.Messages = slices.Clone(p.Messages)
	for i := range out.Messages {
		given = r.message(&out.Messages[i]) || given
	}
	if p.Answer != nil {
		answer := *p.Answer
		said = r.message(&answer)
		out.Answer = &answer
	}
	out.Others = slices.Clone(p.Others)
	for i := range out.Others {
		r.message(&out.Others[i])
	}
	out.Tools, out.Settings = r.JSON(p.Tools), r.JSON(p.Settings)
	if given || string(out.Tools) != string(p.Tools) {
		out.PromptTokens = nil
	}
	return &out, said || r.spelt(p.Tokens)
}

// tokenIDs is the attribute with ids of tokens whose log-probabilities nobody
// said: see package proxy.
const tokenIDs = "token_ids"

// silence leaves of the tokens that a call sampled only how likely they were. S
// and its prompt are copies.
func silence(s *trace.Span) {
	delete(s.Attributes, tokenIDs)
	s.Prompt.Tokens = slices.Clone(s.Prompt.Tokens)
	for i := range s.Prompt.Tokens {
		s.Prompt.Tokens[i].ID, s.Prompt.Tokens[i].Text = nil, ""
	}
}

// spelt reports whether the tokens together spell a secret.
func (r *Redactor) spelt(tokens []trace.Token) bool {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.Text)
	}
	return r.Text(b.String()) != b.String()
}

// message blanks m, which is a copy, and reports whether there was anything.
func (r *Redactor) message(m *rl.Message) bool {
	changed := false
	set := func(text *string, to string) {
		changed = changed || *text != to
		*text = to
	}
	set(&m.Name, r.name(m.Name))
	if parts := m.Content.Parts(); parts != nil {
		clean := r.JSON(parts)
		if string(clean) != string(parts) && strictjson.Unmarshal(clean, &m.Content) == nil {
			changed = true
		}
	} else if !m.Content.IsNull() {
		before := m.Content.Text()
		if clean := r.long(before); clean != before {
			m.Content, changed = rl.Text(clean), true
		}
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		f := &m.ToolCalls[i].Function
		set(&f.Name, r.name(f.Name))
		set(&f.Arguments, r.long(f.Arguments))
	}
	return changed
}

func (r *Redactor) result(e *rl.EvaluateResult) *rl.EvaluateResult {
	if e == nil {
		return nil
	}
	out := *e
	out.Reason, out.Error, out.Metrics = r.long(e.Reason), r.long(e.Error), r.metrics(e.Metrics)
	out.StepOutputs = slices.Clone(e.StepOutputs)
	for i := range out.StepOutputs {
		s := &out.StepOutputs[i]
		s.Reason, s.Metrics = r.long(s.Reason), r.metrics(s.Metrics)
	}
	return &out
}

func (r *Redactor) metrics(m rl.Metrics) rl.Metrics {
	m = slices.Clone(m)
	for i := range m {
		m[i].Name, m[i].Reason = r.Text(m[i].Name), r.long(m[i].Reason)
	}
	return m
}

// fields are attributes or metadata: names count as keys do in JSON.
func (r *Redactor) fields(m map[string]json.RawMessage) map[string]json.RawMessage {
	if m == nil {
		return nil
	}
	out := make(map[string]json.RawMessage, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		if len(value) > 0 {
			value = json.RawMessage(r.document(string(value), r.secret(name), 0))
		}
		out[r.name(name)] = value
	}
	return out
}

// name is a name whose secrets are blanked, and no longer than names may be.
func (r *Redactor) name(name string) string { return cut(r.Text(name), name, trace.MaxName) }

// long is a text whose secrets are blanked, and no longer than texts may be:
// marks are longer than short secrets.
func (r *Redactor) long(text string) string { return cut(r.Text(text), text, trace.MaxText) }

func cut(clean, before string, most int) string {
	if len(clean) <= most || len(before) > most {
		return clean // what came too long is not made to fit: a store says so
	}
	end := most
	for end > 0 && !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end]
}
