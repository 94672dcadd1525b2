package explain

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// owner returns the row of which row i is a copy, or i.
func (b *Batch) owner(i int) int {
	if len(b.Result.Owner) == 0 {
		return i
	}
	return int(b.Result.Owner[i])
}

// branch reports whether row i belongs to a branch.
func (b *Batch) branch(i int) bool { return b.Rows.BranchOf != nil && b.Rows.BranchOf[i] >= 0 }

// state returns the row that stands for the state in which row i was decided: the one that the
// episode has there that was played before its branches.
func (b *Batch) state(i int) int {
	i = b.owner(i)
	for b.branch(i) && b.Rows.Step[i] == b.Rows.BranchAt[i] {
		i = b.owner(b.positions()[place{b.Rows.BranchOf[i], b.Rows.Step[i]}])
	}
	return i
}

// ways returns the first own rows of the episodes that continue from the state of row i and have a
// score, the one that was played first if it has one, and then its branches.
func (b *Batch) ways(i int) (all []int) {
	state := b.state(i)
	if b.member(state) >= 0 {
		all = append(all, state)
	}
	for k := range b.Rows.Group {
		if k != state && b.member(k) >= 0 && b.branch(k) && b.Rows.Step[k] == b.Rows.BranchAt[k] && b.state(k) == state {
			all = append(all, k)
		}
	}
	return all
}

// branchesBeneath reports whether the episode of row i was left after it.
func (b *Batch) branchesBeneath(i int) bool {
	if len(b.Result.Owner) == 0 {
		return false
	}
	i = b.owner(i)
	for p := (place{b.Rows.Trajectory[i], b.Rows.Step[i] + 1}); ; p.step++ {
		k, ok := b.positions()[p]
		if !ok {
			return false
		}
		if len(b.ways(k)) > 1 {
			return true
		}
	}
}

// begins returns the first row of the stretch of steps that row i is in, up to which its episode
// goes back to the last state with several ways on, or to the start.
func (b *Batch) begins(i int) int {
	for b.Rows.Step[i] > 0 && b.state(i) == i && len(b.ways(i)) < 2 {
		i = b.positions()[place{b.Rows.Trajectory[i], b.Rows.Step[i] - 1}]
	}
	return i
}

// amongSiblings returns the comparison of tree.
func (b *Batch) amongSiblings(row int) *Term {
	group, votes, score := b.columns()
	first, among := b.begins(row), "scores of the members"
	if b.Rows.Step[first] > 0 {
		among = "scores of the ways from this state"
		for i := range group {
			group[i] = -1
		}
		for _, k := range append(b.ways(first), row) {
			group[k] = 0
		}
		for i := range votes {
			votes[i] = group[i] == 0 && (i != row || row == first)
		}
	}
	n := norm(b.Config)
	n.Singleton = advantage.SingletonZero
	return compared(score[row], advantage.Spreads(score, group, votes)[group[row]], n, among)
}

// againstValue returns the comparison of vine, or nil for a branch.
func (b *Batch) againstValue(row int) *Term {
	if b.branch(row) {
		return nil
	}
	first := b.begins(row)
	t := &Term{Of: b.Result.Next[row], Divisor: 1}
	t.Mean, t.Value = b.Result.Value[row], b.Result.Next[row]-b.Result.Value[row]
	if b.Rows.Step[first] > 0 {
		t.N = len(b.ways(first)) - 1
		t.Rule = fmt.Sprintf("minus the value of the last valued state, the mean return of the branches there: %d", t.N)
		return t
	}
	group, votes, _ := b.columns()
	for i := range group {
		if votes[i] && group[i] == group[row] && b.Rows.Trajectory[i] != b.Rows.Trajectory[row] {
			t.N++
		}
	}
	t.Rule = fmt.Sprintf("minus the value of the start, the mean return of the other members: %d", t.N)
	if t.N == 0 {
		t.Rule = "no other member valued the start, so 0"
	}
	return t
}

// againstOtherActions returns the comparison of counterfactual, or nil without one.
func (b *Batch) againstOtherActions(row int) *Term {
	if b.branch(row) || b.Rows.LogProb == nil || len(b.ways(row)) < 2 {
		return nil
	}
	p := b.likelihood(row)
	t := &Term{Of: b.Result.Return[row], Divisor: 1 / (1 - p), Value: b.Result.Step[row]}
	t.N, t.Mean = len(b.ways(row))-1, b.Result.Value[row]
	t.Rule = fmt.Sprintf("minus the mean return of the branches, which took other actions: %d; times 1 − p = 1 − %s", t.N, Number(p))
	if p == 1 {
		t.Mean, t.Divisor, t.Value = t.Of, 1, 0
		t.Rule = "the action was certain (p = 1), so 0"
	}
	return t
}

// beneath returns, for each row, the mean of what the episodes that follow it achieved: at each
// state the mean of its ways on. Of is the same for all rows of an episode.
func (b *Batch) beneath(of func(row int) float64) []float64 {
	all := make([]float64, b.Rows.Len())
	for i := range all {
		all[i] = of(i)
	}
	if len(b.Result.Owner) == 0 {
		return all
	}
	known := make([]bool, len(all))
	var value func(i int) float64
	value = func(i int) float64 {
		if next, ok := b.positions()[place{b.Rows.Trajectory[i], b.Rows.Step[i] + 1}]; ok && !known[i] {
			own, ways := value(next), b.ways(next)
			all[i] = own
			for _, k := range ways {
				if k != next {
					all[i] += (value(k) - own) / float64(len(ways))
				}
			}
		}
		known[i] = true
		return all[i]
	}
	for i := range all {
		if b.member(i) >= 0 {
			value(i)
		}
	}
	return all
}
