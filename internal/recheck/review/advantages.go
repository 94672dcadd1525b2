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

// Advantages compares the advantages of group members under both sides.
type Advantages struct {
	Estimator string      `json:"estimator"`
	Groups    int         `json:"groups"`
	Steps     int         `json:"steps"`   // compared
	Flipped   int         `json:"flipped"` // number of Changed with the opposite sign
	Changed   []Advantage `json:"changed"` // those with the opposite sign first, then the largest change first
}

// Advantage is a step with a different advantage. A step without a score has 0.
type Advantage struct {
	Group      string  `json:"group"`
	Trajectory string  `json:"trajectory"`
	Step       int     `json:"step"` // 0-based
	A          float64 `json:"a"`
	B          float64 `json:"b"`
}

// Flips reports whether a step that was encouraged is now discouraged, or the other way round.
func (a Advantage) Flips() bool { return a.A*a.B < 0 }

// Credit says how advantages are estimated.
type Credit struct {
	Align     align.Config
	Advantage advantage.Config
	Indexing  [2]reward.StepIndexing // rules for the step outputs of A and of B
}

// CompareAdvantages estimates the advantages of trajectories by the results of both sides,
// which it finds by id. Trajectories with the same Group are compared. A trajectory without
// steps gets one for each assistant message, whose state is the messages before it.
// CompareAdvantages returns nil if no group has two members.
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
				Boundary: fault.Data, Kind: fault.Invalid, What: "the advantages cannot be estimated", Err: err,
				Hint: "choose a simpler estimator, such as --estimator grpo",
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

// gather groups the trajectories. It leaves out groups of one, which compare nothing.
func gather(all []*rl.Trajectory) []*rl.Group {
	groups := recompute.Groups(all, func(t *rl.Trajectory) string { return t.Group })
	return slices.DeleteFunc(groups, func(g *rl.Group) bool { return g.ID == "" || len(g.Trajectories) < 2 })
}

// copies returns copies of groups whose trajectories can be modified.
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

// spoken returns a step for each assistant message of a conversation without steps. Its state
// is the messages before it.
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

// evaluations returns the results of the members of groups.
func evaluations(groups []*rl.Group, results []scoring.Result) (out []reward.Evaluation) {
	at := map[string]*scoring.Result{}
	for i := range results {
		at[results[i].ID] = &results[i]
	}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			e := reward.Evaluation{Outcome: reward.Infrastructure, Reason: "no result"}
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
