package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
)

// Observation is the score of one rubric in one case, and the quality of that rubric.
type Observation struct {
	Truth  string // name; cases of one truth are not independent
	Case   int    // its position
	Rung   string
	Paid   reward.Evaluation
	Rank   float64 // agreement of the order on the truth's other cases, −1 to 1
	Close  float64 // agreement of the totals, 0 to 1: one minus the mean absolute difference
	Others int     // number of these other cases
}

// Measure scores every rung of the ladders of all cases, in the order of the cases, and
// measures its quality on the other cases of its truth. It leaves out cases of a truth without
// other cases. It calls done, if done is not nil, with the number of finished evaluations.
func Measure(ctx context.Context, pool *reward.Pool, judge Evaluator, cases []*Case, seed rl.Seed, done func(done, of int)) ([]Observation, error) {
	var observations []Observation
	var episodes []*rl.Trajectory
	for _, same := range byTruth(cases) {
		if len(same) < 2 {
			continue
		}
		truth := cases[same[0]].Truth
		for _, rung := range Ladder(truth, Donors(cases, same[0]), seed) {
			found, err := qualities(ctx, judge, cases, same, rung)
			if err != nil {
				return nil, err
			}
			for k, i := range same {
				t, err := cases[i].With(rung.Written)
				if err != nil {
					return nil, err
				}
				t.ID = fmt.Sprintf("%s: %s", t.ID, rung.Name)
				episodes = append(episodes, t)
				found[k].Case, found[k].Rung, found[k].Truth = i, rung.Name, truth.Name
			}
			observations = append(observations, found...)
		}
	}
	if len(episodes) == 0 {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, What: fmt.Sprintf("none of the %d episodes has a stakeholder that occurs twice", len(cases)),
			Hint: "play more episodes; the quality of a rubric is measured on other work for the same stakeholder",
		}
	}
	paid, err := Pay(ctx, pool, episodes, done)
	for i := range paid {
		observations[i].Paid = paid[i]
	}
	return observations, err
}

// Pay scores episodes with a reward, each alone.
func Pay(ctx context.Context, pool *reward.Pool, episodes []*rl.Trajectory, done func(done, of int)) ([]reward.Evaluation, error) {
	groups := make([]*rl.Group, len(episodes))
	for i, t := range episodes {
		groups[i] = &rl.Group{ID: t.ID, Task: rl.Task{ID: t.Task}, Trajectories: []*rl.Trajectory{t}}
	}
	return pool.Evaluate(ctx, groups, func(n int) {
		if done != nil {
			done(n, len(episodes))
		}
	})
}

// byTruth returns the positions of the cases of each truth, in order of first appearance.
func byTruth(cases []*Case) (all [][]int) {
	at := map[string]int{}
	for i, c := range cases {
		k, known := at[c.Truth.Name]
		if !known {
			k = len(all)
			at[c.Truth.Name] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

// Donors returns the truths of the other cases about the same kind of work, or of all others
// if there are none of that kind.
func Donors(cases []*Case, to int) (same []*rubric.Rubric) {
	var all []*rubric.Rubric
	for _, of := range byTruth(cases) {
		c := cases[of[0]]
		if c.Truth.Name == cases[to].Truth.Name {
			continue
		}
		all = append(all, c.Truth)
		if c.kind() == cases[to].kind() {
			same = append(same, c.Truth)
		}
	}
	if len(same) == 0 {
		return all
	}
	return same
}

// kind returns the kind of the work: that of the first resource of the first output.
func (c *Case) kind() rubric.Kind {
	for _, o := range c.Workflow.Outputs {
		if len(o.Resources) > 0 {
			return o.Resources[0].Kind
		}
	}
	return ""
}

// qualities measures the quality of a rung for each of the cases of one truth, by its
// agreement in the others.
func qualities(ctx context.Context, judge Evaluator, cases []*Case, same []int, rung Rung) ([]Observation, error) {
	rank, near := make([]float64, len(same)), make([]float64, len(same))
	for k, i := range same {
		truth, err := judge.Evaluate(ctx, cases[i].Truth, cases[i].Workflow)
		if err != nil {
			return nil, err
		}
		if slices.Contains(truth.Totals, nil) {
			return nil, unusable(cases[i], truth)
		}
		if rung.Written.Rubric == nil {
			continue
		}
		written, err := judge.Evaluate(ctx, rung.Written.Rubric, cases[i].Workflow)
		if err != nil {
			return nil, err
		}
		rank[k], near[k] = agreement(written, truth)
	}
	out := make([]Observation, len(same))
	for k := range same {
		out[k].Others = len(same) - 1
		for other := range same {
			if other != k {
				out[k].Rank += rank[other] / float64(len(same)-1)
				out[k].Close += near[other] / float64(len(same)-1)
			}
		}
	}
	return out, nil
}

// unusable returns the error of a truth that cannot be applied to its own work.
func unusable(c *Case, e *rubric.Evaluation) error {
	for _, r := range e.Criteria {
		for i, v := range r.Verdicts {
			if v.Outcome != reward.Scored {
				return &fault.Error{
					Boundary: fault.Data, Kind: fault.Unscored, Where: c.Truth.Name + ": " + r.Name,
					What: fmt.Sprintf("the stakeholder's own rule gives output %d no score: %s: %s", i+1, v.Outcome, v.Reason),
					Hint: "correct the rule, or check that the judge is reachable",
				}
			}
		}
	}
	return &fault.Error{Boundary: fault.Data, Kind: fault.Unscored, Where: c.Truth.Name, What: "the stakeholder's rubric gives no total", Hint: "correct its rules"}
}
