// Package recompute computes again what a run says about its episodes: it asks the
// rewards about saved trajectories, estimates the advantages of whole groups,
// and finds the first bit in which what is stored differs.
//
// It proves what rewards and credit are a function of: the trajectories as they
// are stored. That an environment and a policy would play them again is no part
// of it.
package recompute

import (
	"context"
	"errors"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Recipe is what the numbers of saved trajectories are made by.
type Recipe struct {
	// Rewards are asked again; nil takes their results as they are stored.
	Rewards *reward.Pool
	// Compares says that a reward compares the members of a group, so that those
	// of a part of one cannot be asked for again.
	Compares bool
	// Indexing is the rule of step outputs, where Rewards is nil.
	Indexing reward.StepIndexing
	Align    align.Config
	// Advantage is the estimator; nil for episodes that were only scored.
	Advantage *advantage.Config
	// Members is how many trajectories a whole group has.
	Members int
}

// Tally counts what was computed again.
type Tally struct {
	Trajectories int `json:"trajectories"`
	Rescored     int `json:"rescored"` // the others' results were taken as they are stored
	Groups       int `json:"groups"`   // whole ones
	Advantages   int `json:"advantages"`
	Differ       int `json:"differ"` // trajectories
}

// Add adds o to t.
func (t *Tally) Add(o Tally) {
	t.Trajectories += o.Trajectories
	t.Rescored += o.Rescored
	t.Groups += o.Groups
	t.Advantages += o.Advantages
	t.Differ += o.Differ
}

// Groups puts trajectories of one name side by side, in order of first appearance.
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

// Group computes the members of one group again, all of them or the part that
// was kept, and returns the first difference of each that differs. Moments are
// those of the batch; nil if they were not kept. Of a part of a group only base
// rewards and returns are computed again, besides the results of rewards.
func (r Recipe) Group(ctx context.Context, members []*rl.Trajectory, moments *advantage.Moments) (Tally, []Difference, error) {
	tally := Tally{Trajectories: len(members)}
	whole := len(members) == r.Members
	fresh := &rl.Group{Trajectories: blank(members)}
	evaluations, asked, err := r.evaluate(ctx, members, fresh, whole)
	if err != nil {
		return tally, nil, err
	}
	tally.Rescored = asked
	var batch align.Batch
	cfg := r.Align
	cfg.MaxUnscored = 1 // the run has decided that
	rule := r.Indexing
	if r.Rewards != nil {
		rule = r.Rewards.StepIndexing()
	}
	if err := batch.Fill(cfg, []*rl.Group{fresh}, evaluations, rule); err != nil {
		return tally, nil, err
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

// blank returns trajectories as they were before any reward had seen them.
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

// evaluate asks the rewards, or takes what is stored, and says about how many
// they were asked.
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
				Boundary: fault.Sandbox, Kind: fault.Timeout, Where: t.ID, What: "could not be scored again: " + out[i].Reason,
				Hint: "verify on a machine with less load, or raise sandbox.wall_clock",
			}
		default:
			asked++
		}
	}
	return out, asked, nil
}

// chance reports whether the machine, not the reward, decided about t.
func chance(t *rl.Trajectory) bool {
	o := reward.Outcome(t.Outcome)
	return t.StopReason != rl.StopError && (o == reward.Timeout || o == reward.Infrastructure)
}

// credit estimates the advantages of a whole group and writes them into the
// trajectories of batch. Where they cannot be known, it writes what depends on a
// trajectory alone, and beside it what is stored.
func (r Recipe) credit(batch *align.Batch, stored []*rl.Trajectory, whole bool, moments *advantage.Moments) (credited bool, err error) {
	var result advantage.Result
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
			Boundary: fault.Data, Kind: fault.Invalid, Where: stored[0].Group, What: "its advantages cannot be computed", Err: err,
			Hint: "the file or config.yaml was changed after the run; restore it from a copy",
		}
	}
	batch.Write(&result)
	before := stepsOf(stored)
	if credited {
		number(batch.Steps, before)
		return true, nil
	}
	for i, s := range batch.Steps {
		if b := before[i].Credit; b != nil && s.Credit != nil {
			base, ret := s.Credit.BaseReward, s.Credit.Return
			*s.Credit = *b
			s.Credit.BaseReward, s.Credit.Return = base, ret
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

// number moves the anchor groups of fresh to where the batch of the run had
// come to when it numbered those of this group.
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
		}
	}
}
