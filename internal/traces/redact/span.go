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

// Span returns s with the secrets in all of its texts and attributes redacted. If it
// redacts something in an answer, it also removes the ids and texts of the answer's
// tokens, which could reveal the secret.
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

// About returns a with its secrets redacted.
func (r *Redactor) About(a trace.About) trace.About {
	a.Agent, a.Task, a.Metadata = r.name(a.Agent), r.name(a.Task), r.fields(a.Metadata)
	return a
}

// Sink returns a sink that redacts its input and passes it to next.
func (r *Redactor) Sink(next trace.Sink) trace.Sink { return sink{r, next} }

type sink struct {
	r    *Redactor
	next trace.Sink
}

// Put implements trace.Sink.
func (s sink) Put(ctx context.Context, spans []trace.Span, about []trace.About) error {
	clean := make([]trace.Span, len(spans))
	thought := map[[2]string]bool{} // calls whose reasoning contained a secret
	for i := range spans {
		clean[i] = s.r.Span(spans[i])
		if clean[i].Kind == trace.KindReasoning && clean[i].Text != spans[i].Text {
			thought[[2]string{clean[i].Trace, clean[i].Parent}] = true
		}
	}
	for i := range clean {
		if clean[i].Prompt != nil && thought[[2]string{clean[i].Trace, clean[i].ID}] {
			silence(&clean[i]) // the reasoning is among its tokens
		}
	}
	known := make([]trace.About, len(about))
	for i := range about {
		known[i] = s.r.About(about[i])
	}
	return s.next.Put(ctx, clean, known)
}

// prompt returns p with its secrets redacted, and whether the answer had one.
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

// tokenIDs is the attribute with token ids without log-probabilities: see package
// proxy.
const tokenIDs = "token_ids"

// silence removes everything but the log-probabilities from the sampled tokens. s and
// its prompt are copies.
func silence(s *trace.Span) {
	delete(s.Attributes, tokenIDs)
	s.Prompt.Tokens = slices.Clone(s.Prompt.Tokens)
	for i := range s.Prompt.Tokens {
		s.Prompt.Tokens[i].ID, s.Prompt.Tokens[i].Text = nil, ""
	}
}

// spelt reports whether the joined tokens contain a secret.
func (r *Redactor) spelt(tokens []trace.Token) bool {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.Text)
	}
	return r.Text(b.String()) != b.String()
}

// message redacts m, which is a copy, and reports whether it had secrets.
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

// fields redacts attributes or metadata, and treats their names like keys of JSON.
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

// name redacts a name and keeps it within the maximum length.
func (r *Redactor) name(name string) string { return cut(r.Text(name), name, trace.MaxName) }

// long redacts a text and keeps it within the maximum length, because marks can be
// longer than the secrets.
func (r *Redactor) long(text string) string { return cut(r.Text(text), text, trace.MaxText) }

func cut(clean, before string, most int) string {
	if len(clean) <= most || len(before) > most {
		return clean // input that was too long before is left to the store to reject
	}
	end := most
	for end > 0 && !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end]
}
