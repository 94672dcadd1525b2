package explain

import (
	"math"

	"github.com/merit-rl/merit/core/rl"
)

// Tree is the part of the branches of a group around a step: how its state was played on, and
// where the step's episode and its branches left others.
type Tree struct {
	// Of is the episode that the step's one left, and At the first step after that; empty = none.
	Of string `json:"branch_of,omitempty"`
	At int    `json:"branch_at,omitempty"`
	// CopyOf is the episode to which the step belongs, if the step is a copy of it; else empty.
	CopyOf string `json:"copy_of,omitempty"`
	State  string `json:"state,omitempty"` // what the policy saw, or the key of the state
	Ways   []Way  `json:"ways"`            // the ways on from the state of the step; the first was played before the others
	// Value is what the state is worth to the step before, and Rule how it was computed.
	Value float64 `json:"value"`
	Rule  string  `json:"rule"`
	// Left are the other states at which the step's episode was left.
	Left []Left `json:"left,omitempty"`
}

// Way is one of the ways on from a state: a step with the end of its episode.
type Way struct {
	Trajectory string   `json:"trajectory"`
	Branch     bool     `json:"branch,omitempty"` // it left the episode there
	Action     string   `json:"action,omitempty"`
	State      string   `json:"state,omitempty"` // what followed the action: what the policy saw next, or the key of that state
	Steps      int      `json:"steps"`           // from here to the end
	Outcome    string   `json:"outcome"`
	Score      *float64 `json:"score"`      // of the episode; nil = none
	Mean       float64  `json:"mean_score"` // of the episodes that follow the step: Score, unless it was left later
	Return     float64  `json:"return"`     // G, of all that follow
	Advantage  float64  `json:"advantage"`  // of the step
	Learned    bool     `json:"learned"`    // the learner uses the step
	Later      int      `json:"left_later"` // states after it at which it was left
	Self       bool     `json:"self,omitempty"`
}

// Left is a state at which an episode was left.
type Left struct {
	Step     int `json:"step"`
	Branches int `json:"branches"`
}

// tree describes the branches around a row, or returns nil if nothing branched there.
func (b *Batch) tree(row int) *Tree {
	if b.Rows.BranchOf == nil {
		return nil
	}
	own, state := b.owner(row), b.state(row)
	t := &Tree{State: b.saw(state), Left: b.left(row)}
	if b.branch(row) {
		t.Of, t.At = b.members[b.Rows.BranchOf[row]].Trajectory, int(b.Rows.BranchAt[row])
	}
	if own != row {
		t.CopyOf = b.members[b.Rows.Trajectory[own]].Trajectory
	}
	for _, i := range b.played(state) {
		t.Ways = append(t.Ways, b.wayOn(i, state, own))
	}
	t.value(b.likelihood(state))
	if len(t.Ways) < 2 && t.Of == "" && len(t.Left) == 0 {
		return nil
	}
	return t
}

// value computes Value: the mean G of the ways with a score. With a likelihood p, that of the first
// way, it counts with p, and all others together with the rest.
func (t *Tree) value(p float64) {
	sum, n := 0.0, 0.0
	for _, w := range t.Ways[1:] {
		if w.Score != nil {
			sum, n = sum+w.Return, n+1
		}
	}
	first := t.Ways[0]
	switch t.Rule = "the mean of G"; {
	case first.Score == nil && n > 0:
		t.Value = sum / n
	case first.Score == nil:
	case n > 0 && p == 0:
		t.Value, t.Rule = sum/n, "the mean G of the branches"
	case n > 0 && p > 0:
		t.Value, t.Rule = p*first.Return+(1-p)*sum/n, "p G of the first + (1 − p) mean G of the others, p = "+Number(p)
	default:
		t.Value = (first.Return + sum) / (n + 1)
	}
}

// likelihood returns the probability of the action of a row for counterfactual, which weighs by it,
// 0 for a member's row and vine, which does not count it, and −1 for other estimators.
func (b *Batch) likelihood(row int) float64 {
	if b.Config.Estimator == "vine" && !b.branch(row) {
		return 0
	}
	if b.Config.Estimator != "counterfactual" || b.Rows.LogProb == nil {
		return -1
	}
	return math.Exp(min(b.Rows.LogProb[row], 0))
}

// played returns the first own rows of all episodes that went on from a state, scored or not: the
// one that was played first, then its branches.
func (b *Batch) played(state int) []int {
	all := []int{state}
	for k := range b.Rows.Group {
		if b.leaves(k) && b.state(k) == state {
			all = append(all, k)
		}
	}
	return all
}

// leaves reports whether row i is the first own one of a branch.
func (b *Batch) leaves(i int) bool { return b.branch(i) && b.Rows.Step[i] == b.Rows.BranchAt[i] }

// left returns the states at which the episode of a row was left, except the row's own.
func (b *Batch) left(row int) (all []Left) {
	t := b.Rows.Trajectory[row]
	for step := int32(0); ; step++ {
		i, ok := b.positions()[place{t, step}]
		if !ok {
			return all
		}
		if n := len(b.played(b.state(i))) - 1; n > 0 && i != row {
			all = append(all, Left{Step: int(step), Branches: n})
		}
	}
}

// saw returns what the policy saw at a row: its last message, or the key of the state.
func (b *Batch) saw(row int) string {
	if b.origin != nil {
		t := b.origin[b.Rows.Trajectory[row]]
		if seen := t.Observation(int(b.Rows.Step[row])); len(seen) > 0 {
			return seen[len(seen)-1].Content.Text()
		}
	}
	if b.Rows.Anchor == nil {
		return ""
	}
	return b.Rows.Anchor[row]
}

// wayOn describes the way that row i takes from a state; own is the explained row.
func (b *Batch) wayOn(i, state, own int) Way {
	t, r := b.Rows.Trajectory[i], &b.Result
	m := b.members[t]
	w := Way{
		Trajectory: m.Trajectory, Branch: i != state, Action: b.actions[i], Steps: m.Steps - int(b.Rows.Step[i]), Outcome: m.Outcome,
		Self: i == own, Learned: r.Weight[i] > 0,
	}
	if next, ok := b.positions()[place{t, b.Rows.Step[i] + 1}]; ok {
		w.State = b.saw(next)
	} else if b.origin != nil {
		w.State = after(b.origin[t])
	}
	for _, l := range b.left(i) {
		if l.Step > int(b.Rows.Step[i]) {
			w.Later++
		}
	}
	if b.member(i) >= 0 {
		score := b.Rows.Score[i]
		w.Score, w.Mean, w.Return, w.Advantage = &score, r.Score[i]+b.penalty(i), r.Return[i]+b.penalty(i), r.Advantage[i]
	}
	return w
}

// after returns the text of the messages behind the last action of an episode.
func after(t *rl.Trajectory) string {
	if n := len(t.Steps); n > 0 && t.Steps[n-1].MessageCount+1 < len(t.Messages) {
		return t.Messages[len(t.Messages)-1].Content.Text()
	}
	return ""
}
