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

// ScoreOptions say which traces are scored.
type ScoreOptions struct {
	Query    trace.Query
	Parallel int            // evaluations at one time; 0 is one for each processor. It changes nothing that is written
	Now      time.Time      // when the rewards were given
	Progress func(done int) // may be nil
}

// Scored is what came of a pass.
type Scored struct {
	*scoring.Summary
	Written int `json:"written"` // traces that have a reward that they did not have
	Same    int `json:"same"`    // traces that had it already
}

// page is how many traces are chosen at one time, and share how many of them
// each evaluation at a time has: what is held in memory at once.
const (
	page  = 1000
	share = 8
)

// Score evaluates the traces that the query chooses, as trajectories, and writes
// what came of it as reward spans: one for the trace, with its outcome and its
// score if it is scored, and one for each span that has a step output. What a
// reward of the same digest has said before stays as it is, with another both
// stand; traces that changed since are scored again. A trace without a score is
// no error: see the Summary's Unscored.
//
// A reward that compares the members of a group gets the traces of one
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

// pass is one Score.
type pass struct {
	store         *store.Store
	options       ScoreOptions
	pool          *reward.Pool
	names         identity
	results       []scoring.Result // without what is not summed up
	written, same int
	truthless     int // trajectories without a ground truth
}

// chunks scores traces that stand alone.
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

// groups scores traces group by group, in the order of each group's first.
func (p *pass) groups(ctx context.Context) error {
	var order []string
	members := map[string][]string{}
	err := p.store.Heads(ctx, p.options.Query, page, func(heads []trace.Head) error {
		for _, h := range heads {
			t := trace.Trace{Head: h}
			group := cmp.Or(t.Trajectory().Group, "trace\x00"+h.ID) // a trace of no group stands alone
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

// score evaluates the traces of ids and writes what is new.
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

// summed is what a summary needs of r.
func summed(r scoring.Result) scoring.Result {
	if r.Score != nil {
		r.Reason, r.Score = "", new(*r.Score)
	}
	r.StepOutputs, r.Metrics, r.Notes = nil, nil, nil
	return r
}
