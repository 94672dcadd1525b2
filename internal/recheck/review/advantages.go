package review

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

// Advantages is what the members of groups would get by either side.
type Advantages struct {
	Estimator string      `json:"estimator"`
	Groups    int         `json:"groups"`
	Steps     int         `json:"steps"`   // compared
	Flipped   int         `json:"flipped"` // of the changed ones, those of the other sign
	Changed   []Advantage `json:"changed"` // those of the other sign first, then the largest
}

// Advantage is a step with another advantage. One without a score has 0.
type Advantage struct {
	Group      string  `json:"group"`
	Trajectory string  `json:"trajectory"`
	Step       int     `json:"step"` // 0-based
	A          float64 `json:"a"`
	B          float64 `json:"b"`
}

// Flips reports whether a step that was encouraged is now discouraged, or the
// other way round.
func (a Advantage) Flips() bool { return a.A*a.B < 0 }

// Credit says how advantages are estimated.
type Credit struct {
	Align     align.Config
	Advantage advantage.Config
	Indexing  [2]reward.StepIndexing // of the step outputs of A and of B
}

// CompareAdvantages estimates the advantages of trajectories, of which those of
// one Group are compared, by the results of either side, which are found by id.
// A trajectory without steps has one for each assistant message, in the state
// that the messages before it are. It returns nil if no group has two members.
func CompareAdvantages(c Credit, trajectories []*rl.Trajectory, a, b []scoring.Result) (*Advantages, error) {
	groups := gather(trajectories)
	if len(groups) == 0 {
		return nil, nil
	}
	var batches [2]align.Batch
	var results [2]advantage.Result
	for k, side := range [][]scoring.Result{a, b} {
		cfg := c.Align
		cfg.MaxUnscored = 1
		if err := batches[k].Fill(cfg, copies(groups), evaluations(groups, side), c.Indexing[k]); err != nil {
			return nil, err
		}
		if err := advantage.Estimate(c.Advantage, &batches[k].Rows, &results[k]); err != nil {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, What: "no advantages", Err: err,
				Hint: "choose an estimator that does without, such as grpo, with --estimator",
			}
		}
	}
	out := &Advantages{Estimator: c.Advantage.Estimator, Groups: len(groups), Steps: len(batches[0].Steps), Changed: []Advantage{}}
	for i := range batches[0].Steps {
		x, y := results[0].Advantage[i], results[1].Advantage[i]
		if same(x, y) {
			continue
		}
		rows := &batches[0].Rows
		t := batches[0].Trajectories[rows.Trajectory[i]]
		change := Advantage{groups[rows.Group[i]].ID, t.ID, int(rows.Step[i]), x, y}
		if change.Flips() {
			out.Flipped++
		}
		out.Changed = append(out.Changed, change)
	}
	slices.SortStableFunc(out.Changed, func(x, y Advantage) int {
		if x.Flips() != y.Flips() {
			if x.Flips() {
				return -1
			}
			return 1
		}
		return cmp.Compare(math.Abs(y.B-y.A), math.Abs(x.B-x.A))
	})
	return out, nil
}

// gather puts the trajectories of each group side by side. Groups of one compare
// nothing and are left out.
func gather(all []*rl.Trajectory) []*rl.Group {
	groups := recompute.Groups(all, func(t *rl.Trajectory) string { return t.Group })
	return slices.DeleteFunc(groups, func(g *rl.Group) bool { return g.ID == "" || len(g.Trajectories) < 2 })
}

// copies returns groups whose trajectories may be written to.
func copies(groups []*rl.Group) []*rl.Group {
	out := make([]*rl.Group, len(groups))
	for i, g := range groups {
		out[i] = &rl.Group{ID: g.ID}
		for _, t := range g.Trajectories {
			c := *t
			if c.Steps = slices.Clone(t.Steps); len(c.Steps) == 0 {
				c.Steps = spoken(t)
			}
			out[i].Trajectories = append(out[i].Trajectories, &c)
		}
	}
	return out
}

// spoken makes a step of each assistant message of a conversation from
// elsewhere. Its state is what was said before it.
func spoken(t *rl.Trajectory) (steps []rl.Step) {
	before := ""
	for i, m := range t.Messages {
		if m.Role == rl.RoleAssistant {
			steps = append(steps, rl.Step{Index: len(steps), MessageCount: i, Anchor: before, ActionValid: true})
		}
		before += fmt.Sprintf("%q%q", m.Role, m.Content.Text())
	}
	return steps
}

// evaluations returns what results say about the members of groups.
func evaluations(groups []*rl.Group, results []scoring.Result) (out []reward.Evaluation) {
	at := map[string]*scoring.Result{}
	for i := range results {
		at[results[i].ID] = &results[i]
	}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			e := reward.Evaluation{Outcome: reward.Infrastructure, Reason: "there is no result"}
			if r := at[t.ID]; r != nil {
				e = reward.Evaluation{Outcome: r.Outcome, Reason: r.Reason}
				if r.Score != nil {
					e.Result = rl.EvaluateResult{Score: *r.Score, IsScoreValid: true, StepOutputs: r.StepOutputs}
				}
			}
			out = append(out, e)
		}
	}
	return out
}
