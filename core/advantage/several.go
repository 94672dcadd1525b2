package advantage

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// gdpo compares each reward by itself before it adds them, so that one with a large spread
// does not drown the others, and whitens the sum over the batch:
//
//	A_E = Σ w_k (R_k − mean R_k of the group) / (std R_k of the group + ε)
//	A = (A_E − mean of the batch) / (std of the batch + ε)
//
// A reward whose scores are all equal in a group contributes 0 there. BaselineOver says what
// counts once in both comparisons: an episode, as the paper has it, or a step, as its code,
// which counts tokens. An invalid action subtracts the penalty from A_E.
//
// Source: arXiv 2601.05242, with its code for verl and for TRL.
func gdpo(cfg Config, rows *Rows, d *Result) {
	s, norm, votes := &d.scratch, cfg.norm(), d.scratch.votes(cfg.BaselineOver)
	norm.Normalization = MeanStdNorm
	for _, r := range rows.Rewards {
		group := s.level[1]
		for i, m := range s.member {
			if group[i] = m; m >= 0 && math.IsNaN(r.Score[i]) {
				group[i] = -1
			}
		}
		score := r.Score
		if s.branches.any {
			score = s.backUpScores(s.work[1], r.Score)
		}
		own := relative(s.work[0], score, group, votes, norm, &s.moments)
		for i := range own {
			d.Episode[i] += r.Weight * own[i]
		}
	}
	PenaliseInvalid(d.Episode, d.Episode, rows.Valid, cfg.InvalidActionPenalty)
	for i, m := range s.member {
		if m < 0 {
			d.Episode[i] = 0
		}
	}
	whiten(d.Step, d.Episode, s.member, votes, cfg.Epsilon, s.level[0], &s.moments)
	copy(d.Advantage, d.Step)
	d.Moments = s.whitened()
}

// judged returns an error if rows lack the scores of the rewards, or if the members of a
// group were not all judged by the same ones.
func (r *Rows) judged() error {
	if len(r.Rewards) == 0 {
		return errors.New("estimator gdpo needs the score of each reward: give rewards in every row, or choose an estimator that compares their sum, such as grpo")
	}
	if err := r.alike(r.Group, r.judgedAlike); err != nil {
		return err
	}
	return r.alike(r.Trajectory, func(i, first int) error {
		for _, x := range r.Rewards {
			if !same(x.Score[i], x.Score[first]) {
				return &RowError{i, fmt.Sprintf("the score of reward %q is %v, but %v in another row of the trajectory", x.Name, x.Score[i], x.Score[first])}
			}
		}
		return nil
	})
}

// alike calls compare with every scored row and the first scored row that has the same id,
// and returns the first error.
func (r *Rows) alike(ids []int32, compare func(i, first int) error) error {
	seen := make([]int, width(ids))
	for i, id := range ids {
		if id < 0 || !r.scored(i) {
			continue
		}
		if seen[id] == 0 {
			seen[id] = i + 1
		}
		if err := compare(i, seen[id]-1); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two scores are equal, or both are missing.
func same(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

// judgedAlike returns an error if a reward judges row i and not row first of its group, or
// the other way round, and for a score that is not finite.
func (r *Rows) judgedAlike(i, first int) error {
	none := true
	for _, x := range r.Rewards {
		here, there := !math.IsNaN(x.Score[i]), !math.IsNaN(x.Score[first])
		switch {
		case here != there:
			return &RowError{i, fmt.Sprintf("reward %q is given for some members of the group only", x.Name)}
		case math.IsInf(x.Score[i], 0):
			return &RowError{i, fmt.Sprintf("the score of reward %q is %v", x.Name, x.Score[i])}
		}
		none = none && !here
	}
	if none {
		return &RowError{i, "no reward is given"}
	}
	return nil
}

// role is a role in a group, or in a trajectory.
type role struct {
	in   int32
	name string
}

// rae compares what a role earned in an episode with what the other members of the group
// earned in that role:
//
//	R_p = Σ r over the steps that the role took in the episode
//	A = R_p − mean R_p of the other members, the same for every step of the role
//
// Source: arXiv 2506.24119. Its baseline is a moving average over earlier games, per game and
// role, taken before the game enters it. Here it is the mean over the other games from the
// same start: like there it does not contain the game itself, and it needs no state.
func rae(cfg Config, rows *Rows, d *Result) {
	s := &d.scratch
	earned, group, votes := s.work[0], s.level[1], resized(s.flags, rows.Len())
	s.flags = votes
	s.earn(rows, earned, votes)
	PenaliseInvalid(earned, earned, rows.Valid, cfg.InvalidActionPenalty)
	clear(s.roles)
	for i, m := range s.member {
		if group[i] = m; m >= 0 {
			group[i] = s.number(role{m, rows.Role[i]})
		}
	}
	leaveOneOut(d.Episode, earned, group, votes, cfg.Singleton, &s.moments)
	copy(d.Advantage, d.Episode)
}

// earn writes what the role of each row earned in its trajectory, and marks the first row of
// each role. It adds in the order of steps.
func (s *scratch) earn(rows *Rows, earned []float64, first []bool) {
	clear(s.roles)
	sums := s.work[1][:0]
	for _, i := range s.order.rows {
		id := s.number(role{rows.Trajectory[i], rows.Role[i]})
		if first[i] = int(id) == len(sums); first[i] {
			sums = append(sums, 0)
		}
		sums[id] += rows.Reward[i]
	}
	for i := range earned {
		earned[i] = sums[s.number(role{rows.Trajectory[i], rows.Role[i]})]
	}
	if s.branches.any {
		s.earnBeneath(rows, earned, first)
	}
}

// mostRoles is how many roles a batch with branches may have, because each of them is backed up.
const mostRoles = 64

// earnBeneath replaces what the role of each row earned in its trajectory by the mean over the
// continuations of the tree, and lets only members vote.
func (s *scratch) earnBeneath(rows *Rows, earned []float64, first []bool) {
	sums := append([]float64(nil), s.work[1]...)
	beneath, last := s.work[2], s.work[3]
	for _, name := range distinct(rows.Role) {
		for k, i := range s.order.rows {
			if last[i] = 0; s.order.end[k] {
				if id, ok := s.roles[role{rows.Trajectory[i], name}]; ok {
					last[i] = sums[id]
				}
			}
		}
		s.backUpScores(beneath, last)
		for i, r := range rows.Role {
			if r == name {
				earned[i] = beneath[i]
			}
		}
	}
	for i := range first {
		first[i] = first[i] && !(rows.branched(int32(i)) && rows.BranchAt[i] > 0)
	}
}

// distinct returns the different texts of a column, at most one more than mostRoles.
func distinct(column []string) (all []string) {
	for _, x := range column {
		if !slices.Contains(all, x) {
			if all = append(all, x); len(all) > mostRoles {
				break
			}
		}
	}
	return all
}

// number returns the number of a role, in order of first appearance.
func (s *scratch) number(r role) int32 {
	id, ok := s.roles[r]
	if !ok {
		if s.roles == nil {
			s.roles = map[role]int32{}
		}
		id = int32(len(s.roles))
		s.roles[r] = id
	}
	return id
}

// played returns an error if a scored row has no role.
func (r *Rows) played() error {
	for i := range r.Group {
		if r.scored(i) && (r.Role == nil || r.Role[i] == "") {
			return &RowError{i, "there is no role, and rae compares the members of a group role by role: give the role of every step, or choose another estimator, such as rloo"}
		}
	}
	if r.BranchOf != nil && len(distinct(r.Role)) > mostRoles {
		return fmt.Errorf("estimator rae takes at most %d roles in a batch with branches: choose another estimator, such as rloo", mostRoles)
	}
	return nil
}

// remax compares the score with that of an episode in which the policy took its most likely
// actions from the same start:
//
//	A = R − R of the greedy episode
//
// The members of a group whose greedy episode has no score take no part.
//
// Source: arXiv 2310.10505, Eq. 6.
func remax(_ Config, rows *Rows, d *Result) {
	s := &d.scratch
	for i, m := range s.member {
		switch {
		case m < 0:
		case math.IsNaN(rows.Greedy[i]):
			s.member[i], d.Weight[i] = -1, 0
		default:
			d.Episode[i] = s.score[i] - rows.Greedy[i]
		}
	}
	copy(d.Advantage, d.Episode)
}

// greedy returns an error if rows lack the scores of greedy episodes, or if those of a group
// differ.
func (r *Rows) greedy() error {
	if r.Greedy == nil {
		return errors.New("estimator remax needs the score of a greedy episode from each start: give greedy_score in every row, or choose an estimator that compares the members of a group, such as rloo")
	}
	return r.alike(r.Group, func(i, first int) error {
		switch x, y := r.Greedy[i], r.Greedy[first]; {
		case math.IsNaN(x) != math.IsNaN(y):
			return &RowError{i, "a greedy score is given for some rows of the group only"}
		case math.IsInf(x, 0):
			return &RowError{i, fmt.Sprintf("the greedy score is %v", x)}
		case !same(x, y):
			return &RowError{i, fmt.Sprintf("the greedy score is %v, but %v in another row of the group", x, y)}
		}
		return nil
	})
}
