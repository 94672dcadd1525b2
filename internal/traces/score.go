package traces

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// ScoreOptions configures Score.
type ScoreOptions struct {
	Query    trace.Query
	Parallel int            // concurrent evaluations; 0 means one per CPU. It does not affect what is written
	Now      time.Time      // the time recorded in the reward spans
	Progress func(done int) // may be nil
}

// Scored is the result of a call of Score.
type Scored struct {
	*scoring.Summary
	Written int `json:"written"` // traces that got a new or changed reward
	Same    int `json:"same"`    // traces that had the same reward already
}

// page is how many traces are selected at once, and share is how many of them each
// parallel evaluation receives. Together they bound the memory.
const (
	page  = 1000
	share = 8
)

// Score evaluates the traces that match the query, as trajectories, and writes the
// results as reward spans: one for the trace, with its outcome and any score, and
// one for each span that has a step output. A result of a reward with the same
// digest is kept unless the trace has changed since; results of other digests stay
// next to it. A trace without a score is not an error: see the Summary's Unscored.
// no error: see the Summary's Unscored.
//
// A reward that compares the members of a group gets all traces of one
// metadata.group, or else of one task, together.
func Score(ctx context.Context, s *store.Store, parts []reward.Weighted, o ScoreOptions) (*Scored, error) {
	p := &pass{store: s, options: o, pool: reward.NewPool(parts, o.Parallel), names: identify(parts)}
	if p.options.Parallel <= 0 {
		p.options.Parallel = cpus.Count()
	}
	run := p.chunks
	if slices.ContainsFunc(parts, func(w reward.Weighted) bool { return w.Scorer.Info().Group }) {
		run = p.groups
	}
	if err := run(ctx); err != nil {
		return nil, err
	}
	summary := scoring.Summarize(p.results)
	summary.WithoutGroundTruth = p.truthless
	return &Scored{Summary: summary, Written: p.written, Same: p.same}, nil
}

// pass is the state of one Score call.
type pass struct {
	store         *store.Store
	options       ScoreOptions
	pool          *reward.Pool
	names         identity
	results       []scoring.Result // only the fields that the summary needs
	written, same int
	truthless     int // trajectories without a ground truth
}

// chunks scores traces independently.
func (p *pass) chunks(ctx context.Context) error {
	return p.store.Heads(ctx, p.options.Query, page, func(heads []trace.Head) error {
		for part := range slices.Chunk(heads, p.options.Parallel*share) {
			ids := make([]string, len(part))
			for i := range part {
				ids[i] = part[i].ID
			}
			if err := p.score(ctx, ids); err != nil {
				return err
			}
		}
		return nil
	})
}

// groups scores traces group by group, in the order of each group's first trace.
func (p *pass) groups(ctx context.Context) error {
	var order []string
	members := map[string][]string{}
	err := p.store.Heads(ctx, p.options.Query, page, func(heads []trace.Head) error {
		for _, h := range heads {
			t := trace.Trace{Head: h}
			group := cmp.Or(t.Trajectory().Group, "trace\x00"+h.ID) // a trace without a group is its own group
			if members[group] == nil {
				order = append(order, group)
			}
			members[group] = append(members[group], h.ID)
		}
		return nil
	})
	for _, group := range order {
		if err == nil {
			err = p.score(ctx, members[group])
		}
	}
	return err
}

// score evaluates the traces with these ids and writes new results.
func (p *pass) score(ctx context.Context, ids []string) error {
	whole := make([]*trace.Trace, len(ids))
	told := make([]*rl.Trajectory, len(ids))
	for i, id := range ids {
		t, err := p.store.Trace(ctx, id)
		if err != nil {
			return err
		}
		whole[i], told[i] = t, t.Trajectory()
	}
	found, err := p.pool.EvaluateAll(ctx, told, nil)
	if err != nil {
		return err
	}
	var spans []trace.Span
	for i, e := range found {
		if len(told[i].GroundTruth) == 0 {
			p.truthless++
		}
		e = align.Check(told[i], e, p.pool.StepIndexing())
		p.results = append(p.results, summed(scoring.NewResult(told[i], e)))
		more := p.names.spans(whole[i], told[i], e, p.pool.StepIndexing(), p.options.Now)
		if fresh(whole[i], more) {
			p.written++
			spans = append(spans, more...)
		} else {
			p.same++
		}
	}
	if len(spans) > 0 {
		if err := p.store.Put(ctx, spans, nil); err != nil {
			return err
		}
	}
	if p.options.Progress != nil {
		p.options.Progress(len(p.results))
	}
	return nil
}

// summed returns the fields of r that a summary needs.
func summed(r scoring.Result) scoring.Result {
	if r.Score != nil {
		r.Reason, r.Score = "", new(*r.Score)
	}
	r.StepOutputs, r.Metrics, r.Notes = nil, nil, nil
	return r
}
