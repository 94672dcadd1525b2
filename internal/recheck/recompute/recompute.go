// Package recompute recomputes what a run stored about its episodes: it runs the rewards on
// saved trajectories, estimates the advantages of whole groups, and finds the first bit that
// differs from the stored values.
//
// It verifies the results of rewards and credit, which are functions of the stored
// trajectories. It does not verify that an environment and a policy would play the same
// trajectories again.
package recompute

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Recipe says how the numbers of saved trajectories are computed.
type Recipe struct {
	// Rewards recompute the results; if it is nil, the stored results are used.
	Rewards *reward.Pool
	// Compares says that a reward compares the members of a group, so that an incomplete group
	// cannot be scored again.
	Compares bool
	// Indexing is the rule for step outputs if Rewards is nil.
	Indexing reward.StepIndexing
	Align    align.Config
	// Advantage is the estimator; nil for episodes that were only scored.
	Advantage *advantage.Config
	// Members is how many members a whole group has. A run saves all branches of a group whose
	// members it saves, and may save some branches of others.
	Members int
	// Branched says that episodes branched, so that the returns of an incomplete group may depend
	// on branches that were not saved.
	Branched bool
	// Won, if set, counts how often members of a whole group won, from their scores.
	Won func(members []*rl.Trajectory)
}

// Tally counts what was recomputed.
type Tally struct {
	Trajectories int `json:"trajectories"`
	Rescored     int `json:"rescored"` // the stored results of the others were used
	Groups       int `json:"groups"`   // whole groups
	Advantages   int `json:"advantages"`
	Differ       int `json:"differ"` // trajectories that differ
}

// Add adds o to t.
func (t *Tally) Add(o Tally) {
	t.Trajectories += o.Trajectories
	t.Rescored += o.Rescored
	t.Groups += o.Groups
	t.Advantages += o.Advantages
	t.Differ += o.Differ
}

// Groups groups trajectories by name, in order of first appearance.
func Groups(all []*rl.Trajectory, name func(*rl.Trajectory) string) (groups []*rl.Group) {
	known := map[string]*rl.Group{}
	for _, t := range all {
		g := known[name(t)]
		if g == nil {
			g = &rl.Group{ID: name(t)}
			known[g.ID] = g
			groups = append(groups, g)
		}
		g.Trajectories = append(g.Trajectories, t)
	}
	return groups
}

// Group recomputes the members of one group, all of them or the saved part, and returns the
// first difference of each that differs. Moments are the moments of the batch, or nil if they
// were not saved. For an incomplete group it recomputes only base rewards and returns, besides
// the results of rewards; without returns if Branched.
func (r Recipe) Group(ctx context.Context, members []*rl.Trajectory, moments *advantage.Moments) (Tally, []Difference, error) {
	tally := Tally{Trajectories: len(members)}
	whole := Members(members) == r.Members
	fresh := &rl.Group{Trajectories: blank(members)}
	evaluations, asked, err := r.evaluate(ctx, members, fresh, whole)
	if err != nil {
		return tally, nil, err
	}
	tally.Rescored = asked
	var batch align.Batch
	cfg := r.Align
	cfg.MaxUnscored = 1 // the run has already applied its limit
	rule := r.Indexing
	if r.Rewards != nil {
		rule = r.Rewards.StepIndexing()
	}
	if err := batch.Fill(cfg, []*rl.Group{fresh}, evaluations, rule); err != nil {
		return tally, nil, err
	}
	if r.Won != nil && whole {
		for _, t := range fresh.Trajectories {
			t.Won = nil
		}
		r.Won(fresh.Trajectories)
	}
	if r.Advantage != nil {
		credited, err := r.credit(&batch, members, whole, moments)
		if err != nil {
			return tally, nil, err
		}
		if credited {
			tally.Groups, tally.Advantages = 1, len(batch.Steps)
		}
	}
	var found []Difference
	for i, stored := range members {
		d, err := compare(stored, fresh.Trajectories[i])
		if err != nil {
			return tally, nil, err
		}
		if d != nil {
			found = append(found, *d)
		}
	}
	tally.Differ = len(found)
	return tally, found, nil
}

// Members returns how many trajectories are members of a group, and not branches.
func Members(all []*rl.Trajectory) (n int) {
	for _, t := range all {
		if t.BranchOf == "" {
			n++
		}
	}
	return n
}

// blank returns trajectories without the results of rewards.
func blank(members []*rl.Trajectory) []*rl.Trajectory {
	out := make([]*rl.Trajectory, len(members))
	for i, t := range members {
		b := *t
		b.Outcome, b.Evaluation, b.Notes = "", nil, nil
		b.Steps = slices.Clone(t.Steps)
		for k := range b.Steps {
			b.Steps[k].Credit = nil
		}
		out[i] = &b
	}
	return out
}

// evaluate runs the rewards, or uses the stored results, and returns how many trajectories
// were scored.
func (r Recipe) evaluate(ctx context.Context, stored []*rl.Trajectory, fresh *rl.Group, whole bool) (out []reward.Evaluation, asked int, err error) {
	ask := r.Rewards != nil && (whole || !r.Compares)
	if ask {
		if out, err = r.Rewards.Evaluate(ctx, []*rl.Group{fresh}, nil); err != nil {
			return nil, 0, err
		}
	} else {
		out = make([]reward.Evaluation, len(stored))
	}
	for i, t := range stored {
		switch {
		case !ask || chance(t):
			out[i] = reward.Evaluation{Outcome: reward.Outcome(t.Outcome), Notes: t.Notes}
			if t.Evaluation != nil {
				out[i].Result = *t.Evaluation
			}
		case t.StopReason != rl.StopError && (out[i].Outcome == reward.Timeout || out[i].Outcome == reward.Infrastructure):
			return nil, 0, &fault.Error{
				Boundary: fault.Sandbox, Kind: fault.Timeout, Where: t.ID, What: "cannot be scored again: " + out[i].Reason,
				Hint: "verify on a less loaded machine, or raise sandbox.wall_clock",
			}
		default:
			asked++
		}
	}
	return out, asked, nil
}

// chance reports whether the machine, not the reward, determined the outcome of t.
func chance(t *rl.Trajectory) bool {
	o := reward.Outcome(t.Outcome)
	return t.StopReason != rl.StopError && (o == reward.Timeout || o == reward.Infrastructure)
}

// credit estimates the advantages of a whole group and writes them into the trajectories of
// batch. If they cannot be determined, it writes the values that depend on a single
// trajectory, and copies the rest from the stored ones.
func (r Recipe) credit(batch *align.Batch, stored []*rl.Trajectory, whole bool, moments *advantage.Moments) (credited bool, err error) {
	var result advantage.Result
	before := stepsOf(stored)
	Kept(&batch.Rows, before)
	if whole {
		err = advantage.EstimatePart(*r.Advantage, &batch.Rows, moments, &result)
		credited = err == nil
	}
	if !whole || errors.Is(err, advantage.ErrMoments) {
		alone := *r.Advantage
		alone.Estimator = "grpo" // needs neither anchors nor values
		err = advantage.Estimate(alone, &batch.Rows, &result)
	}
	if err != nil {
		return false, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: stored[0].Group, What: "the advantages of the group cannot be computed", Err: err,
			Hint: "the file or config.yaml was changed after the run; restore it from a copy",
		}
	}
	batch.Write(&result)
	if credited {
		number(batch.Steps, before)
		return true, nil
	}
	for i, s := range batch.Steps {
		if b := before[i].Credit; b != nil && s.Credit != nil {
			base, ret := s.Credit.BaseReward, s.Credit.Return
			if *s.Credit = *b; !r.Branched || whole {
				s.Credit.Return = ret
			}
			s.Credit.BaseReward = base
		}
	}
	return false, nil
}

func stepsOf(members []*rl.Trajectory) (steps []*rl.Step) {
	for _, t := range members {
		for k := range t.Steps {
			steps = append(steps, &t.Steps[k])
		}
	}
	return steps
}

// number shifts the anchor groups of fresh to the numbers that the batch of the run had
// reached at this group.
func number(fresh, stored []*rl.Step) {
	first := -1
	for _, s := range stored {
		if c := s.Credit; c != nil && c.AnchorGroup >= 0 && (first < 0 || c.AnchorGroup < first) {
			first = c.AnchorGroup
		}
	}
	for _, s := range fresh {
		if c := s.Credit; c != nil && c.AnchorGroup >= 0 {
			c.AnchorGroup += max(first, 0)
			if c.KeptTo != nil {
				to := *c.KeptTo + max(first, 0)
				c.KeptTo = &to
			}
		}
	}
}

// Kept writes into rows the steps of earlier updates that the steps' stored credit names, in the
// order of the rows, for tigpo.
func Kept(rows *advantage.Rows, steps []*rl.Step) {
	type state struct {
		group  int32
		number int
	}
	first := map[state]int32{}
	found := false
	for i, s := range steps {
		if c := s.Credit; c != nil {
			found = found || c.KeptSteps != 0
			if name := (state{rows.Group[i], c.AnchorGroup}); c.AnchorGroup >= 0 {
				if _, ok := first[name]; !ok {
					first[name] = int32(i)
				}
			}
		}
	}
	if !found {
		return
	}
	rows.KeptSteps, rows.KeptTo = make([]int32, len(steps)), make([]int32, len(steps))
	for i, s := range steps {
		c := s.Credit
		if c == nil || c.KeptSteps == 0 {
			continue
		}
		rows.KeptSteps[i], rows.KeptTo[i] = int32(min(c.KeptSteps, math.MaxInt32)), -1
		if c.KeptTo != nil {
			to, ok := first[state{rows.Group[i], *c.KeptTo}]
			if !ok {
				rows.KeptSteps[i] = 0 // of a member that was not saved
				continue
			}
			rows.KeptTo[i] = to
		}
	}
}
