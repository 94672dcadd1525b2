package trace

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Names in a trace's metadata that Merit reads.
const (
	MetaGroundTruth = "ground_truth" // any JSON: what a reward compares with
	MetaGroup       = "group"        // a string: traces of one group had one start; without it, those of one task
)

// About is what a recorder says of a trace beside its spans. What is empty
// leaves what is known; metadata are joined key by key.
type About struct {
	Trace    string                     `json:"trace"`
	Agent    string                     `json:"agent,omitempty"` // who was asked; of several agents, their orchestrator
	Task     string                     `json:"task,omitempty"`
	Status   Status                     `json:"status,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Sink takes what was recorded. It is safe for concurrent use.
type Sink interface {
	// Put takes spans, and what is known of their traces. When it returns nil,
	// all of it survives a crash of the process; when it returns an error, none
	// of it was taken. A batch that was taken may come again.
	Put(ctx context.Context, spans []Span, about []About) error
}

// Head is a trace without its spans.
type Head struct {
	ID       string                     `json:"id"`
	Agent    string                     `json:"agent,omitempty"` // About's, or that of the first span that names one
	Task     string                     `json:"task,omitempty"`
	Start    time.Time                  `json:"start"` // of the first span
	End      time.Time                  `json:"end"`   // of the last that is no reward: those are given when all is over
	Status   Status                     `json:"status"`
	Reward   *float64                   `json:"reward,omitempty"` // see Trace.Total; nil is no number
	Spans    int                        `json:"span_count"`
	Errors   int                        `json:"error_count,omitempty"` // spans that ended in one
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Trace is what agents did about one task.
type Trace struct {
	Head
	All []Span `json:"spans"` // by Order
}

// Order sorts spans by start, end and id: any order of arrival gives the same
// trace.
func Order(spans []Span) {
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), cmp.Compare(a.ID, b.ID))
	})
}

// Agents returns the names of the agents that have spans, sorted.
func (t *Trace) Agents() []string {
	var names []string
	for _, s := range t.All {
		if s.Agent != "" {
			names = append(names, s.Agent)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Newest returns the newest score of the whole of a trace, nil if it has none, and
// those of its spans, one for each span and name. They are in the order of their
// ids, on which sums of floats depend.
func Newest(spans []Span) (whole *Span, parts []*Span) {
	type place struct{ of, name string }
	newest := map[place]*Span{}
	for i := range spans {
		s := &spans[i]
		if s.Kind != KindReward || s.Reward == nil || s.Reward.Score == nil {
			continue
		}
		at := place{s.Reward.Of, s.Name}
		if at.of == "" {
			if whole == nil || later(s, whole) {
				whole = s
			}
		} else if before := newest[at]; before == nil || later(s, before) {
			newest[at] = s
		}
	}
	parts = slices.Collect(maps.Values(newest))
	slices.SortFunc(parts, func(a, b *Span) int { return cmp.Compare(a.ID, b.ID) })
	return whole, parts
}

// Total is the reward of a trace: the newest score of the whole of it, or, if
// nobody has scored the whole, the sum of those of its spans. It is nil if nothing
// was scored.
func Total(spans []Span) *float64 {
	whole, parts := Newest(spans)
	if whole != nil {
		return whole.Reward.Score
	}
	if len(parts) == 0 {
		return nil
	}
	sum := 0.0
	for _, s := range parts {
		sum += *s.Reward.Score
	}
	return &sum
}

func later(a, b *Span) bool {
	return cmp.Or(a.End.Compare(b.End), a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) > 0
}
