package advantage

import (
	"fmt"
	"math"
)

// tree compares the continuations of every state that has several, by their mean scores; the
// members of a group are the continuations of its start:
//
//	A = (S − mean S of the siblings) / F, the same for all steps up to the next such state
//
// S of a continuation is the mean of those that follow it, and the score of the episode behind
// the last of these states. With mean_norm, the advantages that follow each other on the way to an
// end add up to its score less the mean S of the group, which is the advantage of grpo.
//
// Source: TreeRPO (arXiv 2506.05183), which compares the children of each node by such means, and
// Tree-GRPO (arXiv 2509.21240), which adds a comparison of the ends of each tree to one with the
// ends of all trees.
func tree(cfg Config, rows *Rows, d *Result) {
	s, norm := &d.scratch, cfg.norm()
	norm.Singleton = SingletonZero
	siblings, votes := s.siblings(rows)
	relative(d.Step, s.score, siblings, votes, norm, &s.moments)
	copy(d.Advantage, d.Step)
}

// siblings returns, for each row, the number of the comparison that the last state with several
// continuations before it makes, or −1 if it takes no part; and the rows that are compared there.
func (s *scratch) siblings(rows *Rows) (number []int32, votes []bool) {
	b := &s.branches
	number, votes = s.level[1], resized(s.flags, rows.Len())
	s.flags = votes
	at, next := zeroed(s.level[0], rows.Len()), width(s.member) // by state: its number, less one
	s.level[0] = at
	of := func(state int32) int32 {
		if at[state] == 0 {
			next++
			at[state] = next
		}
		return at[state] - 1
	}
	for k, i := range s.order.rows {
		number[i], votes[i] = -1, false
		switch {
		case s.member[i] < 0:
		case s.order.first[i]:
			number[i], votes[i] = s.member[i], true
		case b.any && (b.state[i] != i || b.beside[i] > 0):
			number[i], votes[i] = of(b.state[i]), true
		default:
			number[i] = number[s.order.rows[k-1]]
		}
	}
	return number, votes
}

// vine values the states where branches left a member by the mean return of those branches, and
// the start by the mean return of the other members:
//
//	Q = r + γ r' + … + γ^n V(the next such state),  V = 0 behind a last step
//	A = Q − V(the last such state), the same for all steps from one to the next
//
// Only members are learned from: the rows of branches have weight 0. An invalid action subtracts
// the penalty from A.
//
// Source: VinePPO (arXiv 2410.01679), whose reference implementation does not count the episode
// itself in a value either, and values the start by branches as well. It values every step of an
// answer; for the segments between chosen states see SPO (arXiv 2505.23564).
func vine(cfg Config, rows *Rows, d *Result) {
	s := &d.scratch
	d.Value, d.Next = zeroed(d.Value, rows.Len()), zeroed(d.Next, rows.Len())
	g := s.work[3]
	s.returns(g, cfg.Gamma, rows)
	last := s.after(rows)
	starts := measure(&s.moments, g, s.member, s.order.first, false)
	for t := range int32(s.order.trajectories()) {
		from, to := s.order.start[t], s.order.start[t+1]
		if from == to {
			continue
		}
		if first := s.order.rows[from]; s.member[first] >= 0 && !rows.branched(first) {
			s.segments(cfg, rows, d, s.order.rows[from:to], g, last, starts[s.member[first]])
			continue
		}
		for _, i := range s.order.rows[from:to] {
			d.Weight[i] = 0
		}
	}
	PenaliseInvalid(d.Step, d.Step, rows.Valid, cfg.InvalidActionPenalty)
	for i, w := range d.Weight {
		if d.Advantage[i] = d.Step[i]; w == 0 {
			d.Step[i], d.Advantage[i] = 0, 0
		}
	}
}

// segments computes vine for the rows of a member. Start describes the returns of its group, of
// which the first row's is one.
func (s *scratch) segments(cfg Config, rows *Rows, d *Result, of []int32, g, last []float64, start moment) {
	q, end := last[of[len(of)-1]], len(of)
	for k := len(of) - 1; k >= 0; k-- {
		i := of[k]
		q = rows.Reward[i] + cfg.Gamma*q
		value, chosen := q, k == 0
		switch {
		case k == 0 && start.n > 1:
			value = start.mean - (g[i]-start.mean)/float64(start.n-1)
		case k > 0 && s.branches.any && s.branches.beside[i] > 0:
			value, chosen = s.branches.others(i), true
		}
		if !chosen {
			continue
		}
		for _, row := range of[k:end] {
			d.Value[row], d.Next[row], d.Step[row] = value, q, q-value
		}
		q, end = value, k
	}
}

// counterfactual compares the action of a member with others that were tried in the same state,
// with the same randomness to come:
//
//	A = (1 − p) (G − mean G of the branches),  p = exp(log_prob)
//
// If the branches took actions drawn from the policy without the member's action, that is an
// unbiased estimate of Q(s, a) − V(s) = (1 − p) (Q(s, a) − Q of the others). Only such steps of
// members are learned from: all other rows have weight 0. In G, a later state of the kind is worth
// p G + (1 − p) mean G of its branches, whose expectation is V. An invalid action subtracts the
// penalty from its G.
//
// Source: the advantage of a discrete action by its definition; with the action itself removed
// from the comparison as in the counterfactual baseline of COMA (arXiv 1705.08926).
func counterfactual(cfg Config, rows *Rows, d *Result) {
	s, b := &d.scratch, &d.scratch.branches
	d.Value = zeroed(d.Value, rows.Len())
	if !b.any {
		clear(d.Weight)
		return
	}
	share := s.work[0]
	for i, p := range rows.LogProb {
		share[i] = math.Exp(min(p, 0))
	}
	s.backUp(d.Return, rows.Reward, s.after(rows), share, cfg.Gamma)
	PenaliseInvalid(d.Return, d.Return, rows.Valid, cfg.InvalidActionPenalty)
	for i, m := range s.member {
		if m < 0 || rows.branched(int32(i)) || b.beside[i] == 0 {
			d.Weight[i] = 0
			continue
		}
		d.Value[i] = b.others(int32(i))
		d.Step[i] = (1 - share[i]) * (d.Return[i] - d.Value[i])
	}
	copy(d.Advantage, d.Step)
}

// likely returns an error if rows with branches lack the probabilities of their actions.
func (r *Rows) likely() error {
	if r.BranchOf == nil {
		return nil
	}
	for i := range r.Group {
		switch {
		case !r.scored(i):
		case r.LogProb == nil || math.IsNaN(r.LogProb[i]):
			return &RowError{i, "there is no log_prob, and counterfactual weighs a step by the probability of its action: give the log_prob of every step, or choose another estimator, such as vine"}
		case !(r.LogProb[i] <= 1e-6) || math.IsInf(r.LogProb[i], 0):
			return &RowError{i, fmt.Sprintf("log_prob is %v, and the logarithm of a probability is at most 0", r.LogProb[i])}
		}
	}
	return nil
}
