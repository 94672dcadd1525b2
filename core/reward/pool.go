package reward

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/cpus"
)

// Weighted is one part of a composed reward.
type Weighted struct {
	Scorer Scorer
	Weight float64 // finite
	Name   string  // in metrics and reasons; empty means Scorer.Info().Name
}

// Pool scores trajectories with one reward or a weighted composition of several,
// on a bounded number of goroutines that it starts for each call. It keeps nothing
// between calls and is safe for concurrent use.
type Pool struct {
	parts    []Weighted
	scorers  []Scorer     // of the parts
	shared   SharedScorer // the first part, if it can score for all
	groups   bool         // a part compares the members of a group or of a batch
	batch    int          // how many trajectories are scored together if no part compares groups
	indexing StepIndexing
	parallel int
}

// NewPool returns a pool of at most parallel goroutines; 0 means one per CPU, or
// as many as a part that waits for another machine can use. Parts with the same
// name get the names of their functions, and a number if these are equal too:
// exact, exact#2. A pool of no parts scores 0, for training on the environment's
// own reward.
func NewPool(scorers []Weighted, parallel int) *Pool {
	p := &Pool{parts: slices.Clone(scorers), parallel: parallel, indexing: ByAssistant}
	if parallel <= 0 {
		p.parallel = cpus.Count()
	}
	nameParts(p.parts)
	group, batch := Units(p.parts)
	p.groups, p.batch = group || batch > 0, batch
	for _, part := range p.parts {
		info := part.Scorer.Info()
		if parallel <= 0 {
			p.parallel = max(p.parallel, info.InFlight)
		}
		p.scorers = append(p.scorers, part.Scorer)
	}
	if len(p.parts) > 1 && !p.groups {
		p.shared, _ = p.scorers[0].(SharedScorer)
	}
	if len(p.parts) == 1 && p.parts[0].Scorer.Info().StepIndexing == ByMessage {
		p.indexing = ByMessage
	}
	return p
}

// nameParts gives every part a unique name.
func nameParts(parts []Weighted) {
	alike, seen := map[string]int{}, map[string]int{}
	for i := range parts {
		if parts[i].Name == "" {
			alike[parts[i].Scorer.Info().Name]++
		}
	}
	for i := range parts {
		info := parts[i].Scorer.Info()
		if parts[i].Name == "" && alike[info.Name] > 1 {
			parts[i].Name = info.function()
		}
		parts[i].Name = cmp.Or(parts[i].Name, info.Name)
		if seen[parts[i].Name]++; seen[parts[i].Name] > 1 {
			parts[i].Name = fmt.Sprintf("%s#%d", parts[i].Name, seen[parts[i].Name])
		}
	}
}

// Parts returns the pool's parts, each with its name.
func (p *Pool) Parts() []Weighted { return slices.Clone(p.parts) }

// StepIndexing is the rule for the step outputs of the pool's evaluations: a
// single reward's own, and ByAssistant for a composition, whose parts are
// translated to it.
func (p *Pool) StepIndexing() StepIndexing { return p.indexing }

// Evaluate scores every member of every group and returns the evaluations in
// group-major order. A trajectory that ended with a fault does not reach any
// reward: its outcome is Infrastructure. OnDone, which may be nil, receives the
// number of finished trajectories; its calls are serialized. The error is ctx's,
// or the first Evaluation.Fatal.
func (p *Pool) Evaluate(ctx context.Context, groups []*rl.Group, onDone func(done int)) ([]Evaluation, error) {
	var flat []*rl.Trajectory
	ends := make([]int, 0, len(groups))
	for _, g := range groups {
		flat = append(flat, g.Trajectories...)
		ends = append(ends, len(flat))
	}
	if p.batch > 0 {
		_, ends = p.Units(flat)
	}
	if onDone == nil {
		return p.evaluate(ctx, flat, ends, nil)
	}
	var mu sync.Mutex
	done := 0
	return p.evaluate(ctx, flat, ends, func(members []Evaluation, _ int) {
		mu.Lock()
		defer mu.Unlock()
		done += len(members)
		onDone(done)
	})
}

// EvaluateUnit scores one unit of work, a trajectory or the members of one group,
// in the goroutine of the caller, for callers that manage their own goroutines.
func (p *Pool) EvaluateUnit(ctx context.Context, members []*rl.Trajectory) []Evaluation {
	out := make([]Evaluation, len(members))
	p.score(ctx, members, out)
	return out
}

// EvaluateAll scores trajectories that are not in groups, such as those of a file,
// and returns the evaluations in the same order. For rewards that compare the
// members of a group, trajectories with the same non-empty Group form one group,
// in any order. OnResult, which may be nil, receives each evaluation and its
// position as soon as it is available, from several goroutines at once; the
// results that it received are valid even if ctx ends or an evaluation is fatal.
func (p *Pool) EvaluateAll(ctx context.Context, trajectories []*rl.Trajectory, onResult func(i int, e Evaluation)) ([]Evaluation, error) {
	var tell func([]Evaluation, int)
	if !p.groups {
		if onResult != nil {
			tell = func(one []Evaluation, at int) { onResult(at, one[0]) }
		}
		return p.evaluate(ctx, trajectories, nil, tell)
	}
	order, ends := p.Units(trajectories)
	sorted := make([]*rl.Trajectory, len(order))
	for i, at := range order {
		sorted[i] = trajectories[at]
	}
	if onResult != nil {
		tell = func(members []Evaluation, from int) {
			for k, e := range members {
				onResult(order[from+k], e)
			}
		}
	}
	found, err := p.evaluate(ctx, sorted, ends, tell)
	if err != nil {
		return nil, err
	}
	evaluations := make([]Evaluation, len(found))
	for i, at := range order {
		evaluations[at] = found[i]
	}
	return evaluations, nil
}

// Units returns what parts score together: whole groups, or batches of a number of
// consecutive trajectories, which is 0 if each one is scored alone. If a part
// compares groups, batches do not cross the borders of groups.
func Units(parts []Weighted) (group bool, batch int) {
	for _, part := range parts {
		info := part.Scorer.Info()
		if _, ok := part.Scorer.(GroupScorer); !ok || !info.Group {
			continue
		}
		if n := info.batch(); n == 0 {
			group = true
		} else {
			batch = common(max(batch, 1), n)
		}
	}
	if group {
		return true, 0
	}
	return false, batch
}

// common is the least common multiple of two numbers.
func common(a, b int) int {
	x, y := a, b
	for y > 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// Units returns the positions of trajectories in the order in which they are
// scored, and where what is scored together ends.
func (p *Pool) Units(trajectories []*rl.Trajectory) (order, ends []int) {
	if p.groups && p.batch == 0 {
		return byGroup(trajectories)
	}
	for i := range trajectories {
		order = append(order, i)
		if n := i + 1; n%max(p.batch, 1) == 0 || n == len(trajectories) {
			ends = append(ends, n)
		}
	}
	return order, ends
}

// byGroup returns the positions of trajectories with those of one group side
// by side, groups in order of first appearance, and where each group ends.
func byGroup(trajectories []*rl.Trajectory) (order, ends []int) {
	var members [][]int
	known := map[string]int{}
	for i, t := range trajectories {
		at, ok := known[t.Group]
		if !ok || t.Group == "" {
			at = len(members)
			known[t.Group] = at
			members = append(members, nil)
		}
		members[at] = append(members[at], i)
	}
	for _, m := range members {
		order = append(order, m...)
		ends = append(ends, len(order))
	}
	return order, ends
}

// evaluate scores flat. A unit of work is a group, ending at ends, if some part
// needs whole groups, and a trajectory otherwise. Tell, which may be nil, receives
// each unit that was finished before ctx ended, and its position in flat, from the
// goroutine that scored it. A fatal evaluation ends the pass.
func (p *Pool) evaluate(ctx context.Context, flat []*rl.Trajectory, ends []int, tell func(unit []Evaluation, from int)) ([]Evaluation, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	units := len(flat)
	if p.groups {
		units = len(ends)
	}
	bounds := func(unit int) (int, int) {
		if !p.groups {
			return unit, unit + 1
		}
		if unit == 0 {
			return 0, ends[0]
		}
		return ends[unit-1], ends[unit]
	}
	out := make([]Evaluation, len(flat))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(p.parallel, units) {
		wg.Go(func() {
			for ctx.Err() == nil {
				unit := int(next.Add(1)) - 1
				if unit >= units {
					return
				}
				from, to := bounds(unit)
				p.score(ctx, flat[from:to], out[from:to])
				if err := fatal(out[from:to]); err != nil {
					cancel(err)
				}
				if tell != nil && ctx.Err() == nil {
					tell(out[from:to], from)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}
