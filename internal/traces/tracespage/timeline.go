package tracespage

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Limits of one response.
const (
	PageSpans    = 200
	PageMessages = 100
	maxDepth     = 12 // spans nested deeper are drawn at this depth
)

// Timeline is a part of a trace as its page draws it.
type Timeline struct {
	Trace    Row      `json:"trace"`
	Currency string   `json:"currency,omitempty"` // of the cost; empty without prices
	Metadata []Entry  `json:"metadata,omitempty"` // with the first part
	Agents   []string `json:"agents"`             // in the order of their first action
	Seconds  float64  `json:"seconds"`            // from the first start to the last end
	Rewards  []Given  `json:"rewards,omitempty"`  // of the whole trace, with the first part
	Rounds   []Round  `json:"rounds,omitempty"`   // what agents decided together, with the first part
	From     int      `json:"from"`               // index of the first of Spans
	Next     int      `json:"next,omitempty"`     // index of the next part; 0 on the last part
	Spans    []Line   `json:"spans"`
}

// Entry is a name with its value: a string without quotes, otherwise JSON.
type Entry struct {
	Name  string `json:"name"`
	Value Text   `json:"value"`
}

// Line is a span on a timeline.
type Line struct {
	ID      string       `json:"id"`
	Parent  string       `json:"parent,omitempty"`
	Depth   int          `json:"depth"` // number of spans that enclose it
	Agent   string       `json:"agent,omitempty"`
	Kind    trace.Kind   `json:"kind"`
	Name    string       `json:"name"`
	At      float64      `json:"at"`      // seconds since the trace's start
	Seconds float64      `json:"seconds"` // duration
	Status  trace.Status `json:"status"`
	Error   *Text        `json:"error,omitempty"`

	Prompt       *Prompt             `json:"prompt,omitempty"`
	Tool         *Tool               `json:"tool,omitempty"`
	Reward       *Given              `json:"reward,omitempty"`
	Coordination *trace.Coordination `json:"coordination,omitempty"`
	Text         *Text               `json:"text,omitempty"`
	Attributes   []Entry             `json:"attributes,omitempty"`
	Rewards      []Given             `json:"rewards,omitempty"` // of this span
}

// Tool is a run of a tool.
type Tool struct {
	CallID    string `json:"call_id,omitempty"`
	Arguments *Text  `json:"arguments,omitempty"`
	Result    *Text  `json:"result,omitempty"`
}

// Given is a reward: a score, or an outcome without one.
type Given struct {
	Span    string   `json:"span"`
	Name    string   `json:"name"`
	By      string   `json:"by,omitempty"`
	Digest  string   `json:"digest,omitempty"`
	Of      string   `json:"of,omitempty"`
	Outcome string   `json:"outcome"`
	Score   *float64 `json:"score,omitempty"` // nil unless the outcome is scored
	Reason  *Text    `json:"reason,omitempty"`
	Metrics []Metric `json:"metrics,omitempty"`
}

// Metric is a part of a result.
type Metric struct {
	Name   string   `json:"name"`
	Score  *float64 `json:"score,omitempty"` // nil if it is not valid
	Reason *Text    `json:"reason,omitempty"`
}

// Of returns the part of t that starts with span number from.
func Of(t *trace.Trace, from int) Timeline {
	from = max(0, min(from, len(t.All)))
	end := min(from+PageSpans, len(t.All))
	v := viewer{trace: t, depth: depths(t.All), given: map[string][]Given{}}
	out := Timeline{Trace: RowOf(&t.Head), Seconds: seconds(t.Start, t.End), From: from, Agents: v.agents(), Spans: []Line{}}
	if end < len(t.All) {
		out.Next = end
	}
	rewards := v.rewards()
	if from == 0 {
		out.Metadata, out.Rewards, out.Rounds = v.entries(t.Metadata, "metadata"), rewards, rounds(t.All)
	}
	for i := range t.All[:end] {
		if i < from {
			v.remember(&t.All[i])
			continue
		}
		out.Spans = append(out.Spans, v.line(&t.All[i]))
	}
	return out
}

// Whole returns a text of a span uncut, by the part name of the cut text.
func Whole(t *trace.Trace, span, part string) (string, error) {
	v := viewer{trace: t, depth: depths(t.All), given: map[string][]Given{}}
	v.clip.want = part
	if span == "" {
		v.entries(t.Metadata, "metadata")
	}
	for i := range t.All {
		if s := &t.All[i]; s.ID == span {
			v.line(s)
			if s.Prompt != nil {
				v.messages(s.Prompt.Messages, 0)
			}
		}
	}
	if v.clip.found == nil {
		return "", &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: fmt.Sprintf("trace %q", t.ID), What: fmt.Sprintf("span %q has no text %q", span, part), Hint: "reload the trace; it may have been recorded again"}
	}
	return *v.clip.found, nil
}

// viewer converts spans of a trace to lines, starting at its first span.
type viewer struct {
	trace  *trace.Trace
	clip   clipper
	depth  map[string]int
	given  map[string][]Given // rewards by span
	before trace.Histories
}

func (v *viewer) line(s *trace.Span) Line {
	l := Line{
		ID: s.ID, Parent: s.Parent, Depth: v.depth[s.ID], Agent: s.Agent, Kind: s.Kind, Name: s.Name, At: seconds(v.trace.Start, s.Start), Seconds: seconds(s.Start, s.End),
		Status: s.Status, Error: v.clip.maybe(s.Error, "error"), Coordination: s.Coordination, Text: v.clip.maybe(s.Text, "text"),
		Attributes: v.entries(s.Attributes, "attributes"), Rewards: v.given[s.ID],
	}
	if s.Prompt != nil {
		l.Prompt = v.prompt(s)
	}
	if t := s.Tool; t != nil {
		l.Tool = &Tool{CallID: t.CallID, Arguments: v.clip.maybe(t.Arguments, "tool.arguments"), Result: v.clip.maybe(t.Result, "tool.result")}
	}
	if s.Reward != nil {
		g := v.reward(s)
		l.Reward = &g
	}
	v.remember(s)
	return l
}

// entries returns a map as a list, sorted by name.
func (v *viewer) entries(m map[string]json.RawMessage, part string) []Entry {
	var out []Entry
	for _, name := range sortedKeys(m) {
		out = append(out, Entry{name, v.clip.text(trace.MetaText(m[name]), part, name)})
	}
	return out
}

// agents returns the names in the order of their first action.
func (v *viewer) agents() []string {
	names, seen := []string{}, map[string]bool{}
	for i := range v.trace.All {
		if a := v.trace.All[i].Agent; a != "" && !seen[a] {
			seen[a] = true
			names = append(names, a)
		}
	}
	return names
}

// depths returns the number of spans that enclose each span. It ignores a parent that
// is missing or part of a cycle.
func depths(spans []trace.Span) map[string]int {
	parent := make(map[string]string, len(spans))
	for i := range spans {
		parent[spans[i].ID] = spans[i].Parent
	}
	out := make(map[string]int, len(spans))
	for id := range parent {
		n := 0
		for at := parent[id]; at != "" && n < maxDepth; at = parent[at] {
			if _, there := parent[at]; !there || at == id {
				break
			}
			n++
		}
		out[id] = n
	}
	return out
}

// seconds returns the time from a to b, or 0 if the clock went back.
func seconds(a, b time.Time) float64 { return max(0, b.Sub(a).Seconds()) }
