package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/base/cost"
)

// Versus is the plan of a measurement by a reward that compares the members of a group.
// Its score of an episode says only how good that is among the others, so a reference
// policy plays in the same groups.
type Versus struct {
	Starts  int // groups
	Members int // episodes of each of the two policies in a group
}

// PlanVersus returns the plan for at least the given number of episodes of the measured
// policy. A group has as many members as one of training: the first half are episodes
// of the measured policy, the rest are those of the reference.
func PlanVersus(members, episodes int) Versus {
	half := max(1, members/2)
	return Versus{Starts: (episodes + half - 1) / half, Members: half}
}

// Compares reports whether a part of the reward compares the members of a group.
func Compares(parts []reward.Weighted) bool {
	group, _ := reward.Units(parts)
	return group
}

// Score scores groups together with those of the reference policy from the same starts,
// so that each pair of groups is one. It sets Won of the episodes of groups, and returns
// the batch of both: in each group, those of the reference come last. It adds the fuel of
// the evaluations to fuel, and returns both a batch and an error where
// credit.Pipeline.Assign does.
func (v Versus) Score(ctx context.Context, p *credit.Pipeline, groups, reference []*rl.Group, fuel *uint64) (*credit.Batch, error) {
	joined := make([]*rl.Group, len(groups))
	for i, g := range groups {
		if err := sameStart(g, reference[i]); err != nil {
			return nil, err
		}
		both := *g
		both.Trajectories = slices.Concat(g.Trajectories, reference[i].Trajectories)
		for _, t := range both.Trajectories {
			t.Group = g.ID
		}
		joined[i] = &both
	}
	scored, err := p.Score(ctx, joined)
	if err != nil {
		return nil, err
	}
	for i := range scored.Evaluations {
		*fuel += scored.Evaluations[i].Fuel
	}
	batch, err := p.Assign(scored)
	if batch != nil {
		for _, g := range joined {
			v.Count(g.Trajectories)
		}
	}
	return batch, err
}

// Count sets Won of the first members of a scored group, those of the measured policy, from
// the scores of all.
func (v Versus) Count(members []*rl.Trajectory) {
	scored := func(t *rl.Trajectory) bool { return t.Outcome == string(reward.Scored) && t.Evaluation != nil }
	for _, t := range members[:v.Members] {
		won, n := 0.0, 0
		for _, r := range members[v.Members:] {
			if !scored(t) || !scored(r) {
				continue
			}
			n++
			switch a, b := t.Evaluation.Score, r.Evaluation.Score; {
			case a > b:
				won++
			case a == b:
				won += 0.5
			}
		}
		if n > 0 {
			share := won / float64(n)
			t.Won = &share
		}
	}
}

// Split returns the elements of a batch of Score that belong to the measured policy,
// and those of the reference.
func Split[T any](v Versus, all []T) (own, reference []T) {
	for group := range slices.Chunk(all, 2*v.Members) {
		own, reference = append(own, group[:v.Members]...), append(reference, group[v.Members:]...)
	}
	return own, reference
}

// sameStart returns an error if the episodes of two groups began differently: then
// they cannot be compared.
func sameStart(a, b *rl.Group) error {
	for _, x := range a.Trajectories {
		for _, y := range b.Trajectories {
			if from, to := startOf(x), startOf(y); from != to && from != "" && to != "" {
				return &fault.Error{
					Boundary: fault.Plugin, Kind: fault.Protocol, Where: x.ID,
					What: fmt.Sprintf("the environment began this episode differently from %s of the reference policy, though both have seed %d", y.ID, x.Seed),
					Hint: "make the environment's reset depend on the seed alone; if its data changed since the run began, restore them",
				}
			}
		}
	}
	return nil
}

// wins summarizes how often the episodes beat those of the reference policy; nil if
// none was compared with one.
func wins(all []episode) *run.Wins {
	var x []float64
	var units []string
	for _, e := range all {
		if e.won != nil {
			x, units = append(x, *e.won), append(units, e.unit())
		}
	}
	if len(x) == 0 {
		return nil
	}
	w := stats.ClusterBy(units).Wins(x)
	return &run.Wins{
		Rate: w.Rate, Interval: run.Interval{w.Low, w.High},
		Strength: w.Strength, StrengthInterval: run.Interval{w.StrengthLow, w.StrengthHigh}, PValue: w.PValue,
	}
}

// testWins names the test of a win rate.
const testWins = "Wilcoxon signed ranks of the win rates at each start, against one half, two-sided"

// compares reports whether evaluations played by p need a reference policy.
func (l *loop) compares(p Player) bool {
	_, recorded := p.(Recorded)
	return !recorded && Compares(l.deps.Rewards)
}

// unscored lets p play the starts of s, v.Members episodes each, without scoring them.
func (l *loop) unscored(ctx context.Context, p Player, s starts, v Versus, spent *run.Spent) ([]*rl.Group, error) {
	plan := rollout.Plan{
		Seed: s.seed, Groups: v.Starts, Members: v.Members, Prefix: fileName(s.what) + "-", Greedy: s.greedy, Baseline: s.baseline, Unscored: true,
	}
	played, err := l.play(ctx, p, plan, s.what, spent, spent)
	if err != nil {
		return nil, err
	}
	return played.Groups, nil
}

// versus scores what the policy played together with what the reference played, and
// returns the evaluations of both.
func (l *loop) versus(ctx context.Context, what string, v Versus, groups, reference []*rl.Group, spent *run.Spent) (own, other *evaluation, err error) {
	meter := new(cost.Meter)
	batch, err := v.Score(cost.With(ctx, meter), &l.scoring, groups, reference, &spent.Fuel)
	spent.Models = spent.Models.Plus(meter.Models())
	if err != nil {
		return nil, nil, err
	}
	l.logEpisodes(ctx, what, batch)
	own, other = &evaluation{starts: startsOf(groups)}, &evaluation{starts: startsOf(reference)}
	own.episodes, other.episodes = Split(v, episodes(batch, l.s.Train))
	own.trajectories, other.trajectories = Split(v, batch.Trajectories)
	own.score, other.score = score(own.episodes), score(other.episodes)
	l.deps.Progress.Evaluated(what, own.score)
	return own, other, nil
}

// referenceFile holds the episodes of the policy before training on the starts of
// validation: they are the reference of every validation.
const referenceFile = "validation-baseline"

// compared validates by a reward that compares: the policy before training is the
// reference. It plays once, at iteration 0, where it is compared with itself.
func (l *loop) compared(ctx context.Context, it *iteration, s starts, spent *run.Spent) (*evaluation, error) {
	v := PlanVersus(l.s.Rollout.Members, l.s.Train.ValidationEpisodes)
	groups, err := l.unscored(ctx, l.validator, s, v, spent)
	if err != nil {
		return nil, err
	}
	first := it.line.Iteration == 0
	var reference []*rl.Group
	if first {
		reference = again(groups)
	} else if reference, err = l.reference(v); err != nil {
		return nil, err
	}
	e, _, err := l.versus(ctx, s.what, v, groups, reference, spent)
	if err == nil && first {
		err = l.dir.WriteEpisodes(referenceFile, e.trajectories)
	}
	return e, err
}

// reference returns the reference's episodes on the starts of validation.
func (l *loop) reference(v Versus) ([]*rl.Group, error) {
	all, err := l.dir.ReadEpisodes(referenceFile, v.Starts*v.Members)
	if err != nil {
		return nil, err
	}
	var groups []*rl.Group
	for members := range slices.Chunk(all, v.Members) {
		groups = append(groups, &rl.Group{ID: members[0].Group, Trajectories: members})
	}
	return again(groups), nil
}

// again returns the groups' episodes without the results of rewards, as other
// trajectories with ids that the episodes of another policy do not have.
func again(groups []*rl.Group) []*rl.Group {
	out := make([]*rl.Group, len(groups))
	for i, g := range groups {
		fresh := *g
		fresh.Trajectories = make([]*rl.Trajectory, len(g.Trajectories))
		for k, t := range g.Trajectories {
			u := *t
			u.ID, u.Outcome, u.Evaluation, u.Notes, u.Won = "reference-"+t.ID, "", nil, nil, nil
			u.Steps = slices.Clone(t.Steps)
			for n := range u.Steps {
				u.Steps[n].Credit, u.Steps[n].Policy = nil, nil
			}
			fresh.Trajectories[k] = &u
		}
		out[i] = &fresh
	}
	return out
}
