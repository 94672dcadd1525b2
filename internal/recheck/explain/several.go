package explain

import (
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/advantage"
)

// Judged is one of several rewards, compared by itself: gdpo adds Weight · Value of all.
type Judged struct {
	Term
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// judged returns the rewards of the row, or nil for estimators that compare their sum.
func (b *Batch) judged(row int) (all []Judged) {
	if b.Config.Estimator != "gdpo" {
		return nil
	}
	n := norm(b.Config)
	n.Normalization = advantage.MeanStdNorm
	group, votes, _ := b.columns()
	among := "scores"
	if b.Config.BaselineOver == advantage.OverSteps {
		votes, among = nil, "scores (one for each step)"
	}
	for _, r := range b.Rows.Rewards {
		if math.IsNaN(r.Score[row]) {
			continue
		}
		own := make([]int32, len(group))
		for i, g := range group {
			if own[i] = g; math.IsNaN(r.Score[i]) {
				own[i] = -1
			}
		}
		score := b.beneath(func(i int) float64 { return r.Score[i] })
		s := advantage.Spreads(score, own, votes)[group[row]]
		all = append(all, Judged{*compared(score[row], s, n, among), r.Name, r.Weight})
	}
	return all
}

// roleTerm returns A_E of rae: what the role of the row earned, against the other members.
func (b *Batch) roleTerm(row int) *Term {
	type part struct {
		in   int32
		role string
	}
	n := b.Rows.Len()
	earned, seen, roles := map[part]float64{}, map[part]bool{}, map[part]int32{}
	group, votes, x := make([]int32, n), make([]bool, n), make([]float64, n)
	at := b.positions()
	for i := range n { // in the order of steps, as package advantage adds
		if b.Rows.Step[i] != 0 {
			continue
		}
		for p := (place{b.Rows.Trajectory[i], 0}); ; p.step++ {
			k, ok := at[p]
			if !ok {
				break
			}
			own := part{p.trajectory, b.Rows.Role[k]}
			votes[k], seen[own] = !seen[own] && (!b.branch(k) || b.Rows.BranchAt[k] == 0), true
			earned[own] += b.Rows.Reward[k]
		}
	}
	of := map[string][]float64{} // what each role earned, by row
	for _, role := range b.Rows.Role {
		if of[role] == nil {
			of[role] = b.beneath(func(i int) float64 { return earned[part{b.Rows.Trajectory[i], role}] })
		}
	}
	for i := range n {
		x[i] = of[b.Rows.Role[i]][i] - b.penalty(i)
		key := part{b.member(i), b.Rows.Role[i]}
		if _, ok := roles[key]; !ok {
			roles[key] = int32(len(roles))
		}
		if group[i] = roles[key]; key.in < 0 {
			group[i] = -1
		}
	}
	return b.againstOthers(x[row], advantage.Spreads(x, group, votes)[group[row]], fmt.Sprintf("members in the role %s", b.Rows.Role[row]))
}

// againstOthers compares x with the mean of the others of its kind.
func (b *Batch) againstOthers(x float64, s advantage.Spread, among string) *Term {
	t := compared(x, s, advantage.Norm{Normalization: advantage.MeanNorm, Singleton: b.Config.Singleton}, among)
	if s.N > 1 {
		k := float64(s.N)
		t.Divisor = (k - 1) / k
		t.Value *= k / (k - 1)
		t.Rule = fmt.Sprintf("minus the mean of the other %d %s, which is n/(n−1) times the difference from the mean of all", s.N-1, among)
	}
	return t
}

// greedyTerm returns A_E of remax.
func (b *Batch) greedyTerm(row int) *Term {
	_, _, score := b.columns()
	t := &Term{Of: score[row], Divisor: 1, Rule: "minus the score of the greedy episode from the same start"}
	t.Mean = b.Rows.Greedy[row]
	if math.IsNaN(t.Mean) {
		t.Mean, t.Rule = t.Of, "the greedy episode from this start has no score: nothing to compare with, so 0"
		return t
	}
	t.N, t.Varied, t.Value = 1, t.Of != t.Mean, t.Of-t.Mean
	return t
}
