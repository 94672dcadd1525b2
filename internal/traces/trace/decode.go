package trace

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Decode reads a trace from its JSON, as in stores and files, and checks it. The error
// has every problem of every span. Spans that name no trace belong to this one. Decode
// recomputes the head from the spans, except for fields that are only in the head.
func Decode(text []byte) (*Trace, error) {
	if !utf8.Valid(text) {
		return nil, unfit("trace", "the text is not UTF-8")
	}
	t := new(Trace)
	if err := strictjson.Unmarshal(text, t); err != nil {
		return nil, unfit("trace", "this is not a trace: %s", err)
	}
	if err := t.Settle(); err != nil {
		return nil, err
	}
	return t, nil
}

// Settle checks a trace that was assembled elsewhere, sorts its spans and updates its
// head to match. The error has every problem.
func (t *Trace) Settle() error {
	about := t.About()
	problems := []error{about.Check()}
	seen := make(map[string]bool, len(t.All))
	for i := range t.All {
		s := &t.All[i]
		if s.Trace == "" {
			s.Trace = t.ID
		}
		switch err := s.Check(); {
		case err != nil:
			problems = append(problems, err)
		case s.Trace != t.ID:
			problems = append(problems, unfit("span "+printable(s.ID), "belongs to trace %s but is in trace %s", printable(s.Trace), printable(t.ID)))
		case seen[s.ID]:
			problems = append(problems, unfit("span "+printable(s.ID), "occurs twice"))
		}
		seen[s.ID] = true
	}
	if len(t.All) == 0 {
		problems = append(problems, unfit("trace "+printable(t.ID), "has no spans"))
	}
	if err := together(problems); err != nil {
		return err
	}
	t.count()
	return nil
}

// DecodeSpan reads a span from its JSON and checks it.
func DecodeSpan(text []byte) (*Span, error) {
	if !utf8.Valid(text) {
		return nil, unfit("span", "the text is not UTF-8")
	}
	s := new(Span)
	if err := strictjson.Unmarshal(text, s); err != nil {
		return nil, unfit("span", "this is not a span: %s", err)
	}
	return s, s.Check()
}

// About returns what the head tells about the trace in addition to its spans.
func (t *Trace) About() About {
	return About{Trace: t.ID, Agent: t.Agent, Task: t.Task, Status: t.Status, Metadata: t.Metadata}
}

// count sorts the spans and updates the head to match.
func (t *Trace) count() {
	Order(t.All)
	t.Status = cmp.Or(t.Status, StatusOpen)
	t.Start, t.End, t.Spans, t.Errors, t.Reward = t.All[0].Start, t.All[0].Start, len(t.All), 0, Total(t.All)
	for i := range t.All {
		s := &t.All[i]
		if s.Kind != KindReward && s.End.After(t.End) {
			t.End = s.End
		}
		if s.Status == StatusError {
			t.Errors++
		}
		if t.Agent == "" {
			t.Agent = s.Agent
		}
	}
}

func unfit(where, format string, args ...any) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: where, What: fmt.Sprintf(format, args...), Hint: hintSpan}
}

const hintSpan = "correct the recorder of this span; docs/spans.md describes the format of spans"

// together joins all problems into one error that quotes the first few.
func together(problems []error) error {
	var lines []string
	for _, err := range problems {
		if err != nil {
			lines = append(lines, err.Error())
		}
	}
	const most = 5
	if n := len(lines); n > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more problems", n-most))
	}
	if len(lines) == 0 {
		return nil
	}
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: strings.Join(lines, "; "), Hint: hintSpan}
}
