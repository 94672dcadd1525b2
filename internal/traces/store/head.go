package store

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// head is a trace's row.
type head struct {
	trace.Head
	n          int64 // its number in the other tables: that of its first change
	changed    int64
	start, end int64
	said       string // the agent in an About
	first      first
	bytes      int64
	told       bool // the metadata has changed
	isNew      bool
}

// first is the first span that names an agent.
type first struct {
	agent      string
	start, end int64
	id         string
}

func (f first) compare(g first) int {
	return cmp.Or(cmp.Compare(f.start, g.start), cmp.Compare(f.end, g.end), cmp.Compare(f.id, g.id))
}

// headColumns lists the columns of the table traces, in the order of the fields.
const headColumns = "n,id,changed,agent,said,first_agent,first_started,first_ended,first_id,task,started,ended,status,reward,spans,errors,bytes,metadata"

// scanHead reads a row of headColumns.
func scanHead(scan func(...any) error) (*head, error) {
	h := &head{}
	var metadata string
	err := scan(&h.n, &h.ID, &h.changed, &h.Agent, &h.said, &h.first.agent, &h.first.start, &h.first.end, &h.first.id, &h.Task,
		&h.start, &h.end, &h.Status, &h.Reward, &h.Spans, &h.Errors, &h.bytes, &metadata)
	if err != nil {
		return nil, err
	}
	h.Start, h.End = moment(h.start), moment(max(h.start, h.end))
	if metadata != "{}" {
		err = strictjson.Unmarshal([]byte(metadata), &h.Metadata)
	}
	return h, err
}

func (h *head) values() ([]any, error) {
	metadata := "{}"
	if len(h.Metadata) > 0 {
		var err error
		if metadata, err = encode(h.Metadata); err != nil {
			return nil, err
		}
	}
	return []any{h.n, h.ID, h.changed, h.agent(), h.said, h.first.agent, h.first.start, h.first.end, h.first.id, h.Task,
		h.start, h.end, string(h.Status), h.Reward, h.Spans, h.Errors, h.bytes, metadata}, nil
}

func (h *head) agent() string { return cmp.Or(h.said, h.first.agent) }

func newHead(id string) *head {
	return &head{Head: trace.Head{ID: id, Status: trace.StatusOpen}, start: none, end: none, isNew: true}
}

// tell merges an About into the head.
func (h *head) tell(a *trace.About) {
	h.said = cmp.Or(a.Agent, h.said)
	h.Task = cmp.Or(a.Task, h.Task)
	h.Status = cmp.Or(a.Status, h.Status)
	if len(a.Metadata) == 0 {
		return
	}
	h.told = true
	if h.Metadata == nil {
		h.Metadata = map[string]json.RawMessage{}
	}
	for name, value := range a.Metadata {
		h.bytes += int64(len(name)+len(value)) - int64(len(h.Metadata[name]))
		h.Metadata[name] = value
	}
}

// rowBytes estimates what a row takes in addition to its body, for keys, digests and
// indexes. Without it, a flood of tiny spans could fill a disk despite a retention by
// bytes.
const rowBytes = 128

// cost returns the bytes that r counts for.
func (r *row) cost() int64 { return int64(len(r.body)) + rowBytes }

// add counts a new span.
func (h *head) add(r *row) {
	h.Spans++
	if r.status == trace.StatusError {
		h.Errors++
	}
	if h.start == none || r.start < h.start {
		h.start = r.start
	}
	if r.kind != trace.KindReward { // given after the trace ended
		h.end = max(h.end, r.end)
	}
	h.bytes += r.cost()
	if f := (first{r.agent, r.start, r.end, r.id}); r.agent != "" && (h.first.agent == "" || f.compare(h.first) < 0) {
		h.first = f
	}
}

// old is the previous version of a replaced span.
type old struct {
	agent      string
	kind       trace.Kind
	status     trace.Status
	start, end int64
	bytes      int64
}

// replace counts a replaced span. It returns false if the head may still depend on the
// old version, so that the head must be recomputed from all spans.
func (h *head) replace(r *row, was old) (ok bool) {
	ok = (was.start != h.start || r.start <= was.start) && (was.end != h.end || r.end >= was.end && was.kind == r.kind) &&
		(was.agent == r.agent || was.agent == "") && (h.first.id != r.id || (was.start == r.start && was.end == r.end && was.agent == r.agent))
	h.Spans--
	if was.status == trace.StatusError {
		h.Errors--
	}
	h.bytes -= was.bytes
	h.add(r)
	return ok
}

func names(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }
