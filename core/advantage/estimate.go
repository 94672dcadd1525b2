// Package advantage turns rewards into credit: discounted returns, relative
// advantages inside groups of trajectories and inside anchor groups of steps,
// and the estimators made of them (GiGPO, GRPO, RLOO, REINFORCE++, GAE,
// Flow-GRPO, Lightning, HGPO).
//
// The parts are slice functions in gonum's manner: dst first and returned, one
// value per row, inputs are never written to, dst may be the input that has
// its shape, float64 throughout, panic on a length mismatch. Cost is linear in
// the number of rows, but for similarity grouping, which is linear in rows and
// in the clusters of a group. [Estimate] runs a whole estimator over a batch
// with buffers that are reused.
//
// A row that takes no part (its trajectory has no score) carries a negative
// group number: it enters no mean and no deviation and gets 0.
package advantage

import (
	"errors"
	"fmt"
	"math"
)

// Estimate computes the advantages of a batch with the estimator that cfg
// names, into dst, whose buffers it reuses.
//
// The invalid-action penalty is subtracted from the row's episode score and
// from the row's return after discounting, as in GiGPO's reference
// implementation; a trajectory votes in its group with the score of its first
// step.
//
// It returns an error if cfg is wrong (every problem), if rows lack a column
// that the estimator needs, or if a number in or out is not finite
// (*[RowError]); dst then holds no result. It panics if columns differ in
// length.
func Estimate(cfg Config, rows *Rows, dst *Result) error {
	return EstimateWithin(cfg, rows, dst, math.MaxInt64)
}

// EstimateWithin is Estimate for untrusted rows: it stops with [ErrWork] when
// comparing anchors by similarity takes more than most steps, of one to four
// nanoseconds each. The rest is linear in the rows and not counted.
func EstimateWithin(cfg Config, rows *Rows, dst *Result, most int64) error {
	if problems := cfg.Validate(); problems != nil {
		return errors.Join(problems...)
	}
	est := lookup(cfg.Estimator)
	if err := rows.check(); err != nil {
		return err
	}
	if err := est.accepts(rows); err != nil {
		return err
	}
	dst.resize(rows.Len())
	dst.scratch.clusters.left = work(most)
	if err := dst.prepare(cfg, rows); err != nil {
		return err
	}
	est.estimate(cfg, rows, dst)
	for i, a := range dst.Advantage {
		if dst.scratch.member[i] >= 0 && !(finite(a) && finite(dst.Return[i])) {
			return &RowError{i, fmt.Sprintf("return %v and advantage %v: the rewards are too large to compare", dst.Return[i], a)}
		}
	}
	dst.count(rows)
	dst.show()
	return nil
}

// prepare fills what all estimators share: order, members, penalized scores,
// returns, weights, anchor groups.
func (d *Result) prepare(cfg Config, rows *Rows) error {
	s := &d.scratch
	if err := s.order.build(rows); err != nil {
		return err
	}
	if err := s.branches.build(rows, &s.order); err != nil {
		return err
	}
	for i, g := range rows.Group {
		s.member[i], d.Weight[i], s.score[i] = g, 1, rows.Score[i]
		if !rows.scored(i) || s.branches.copied(i) {
			s.member[i], d.Weight[i], s.score[i] = -1, 0, 0
		}
	}
	s.returns(d.Return, cfg.Gamma, rows)
	if s.branches.any {
		s.backUpScores(s.score, rows.Score)
	}
	PenaliseInvalid(s.score, s.score, rows.Valid, cfg.InvalidActionPenalty)
	PenaliseInvalid(d.Return, d.Return, rows.Valid, cfg.InvalidActionPenalty)
	if rows.Anchor == nil {
		for i := range d.AnchorGroup {
			d.AnchorGroup[i] = -1
		}
		return nil
	}
	s.clusters.assign(d.AnchorGroup, s.member, rows.Anchor, cfg.Similarity, s.order.together)
	if s.clusters.left < 0 {
		return ErrWork
	}
	return nil
}

// returns writes the returns into dst, which is neither of the first three work buffers.
func (s *scratch) returns(dst []float64, gamma float64, rows *Rows) {
	if s.branches.any {
		s.backUp(dst, rows.Reward, s.after(rows), nil, gamma)
		return
	}
	rewards := s.order.gather(s.work[0], rows.Reward)
	g := StepReturns(s.work[2], rewards, s.bootstrap(rows), s.order.end, gamma)
	s.order.scatter(dst, g)
}

// after returns the values after truncated rows, 0 for all others, in the second work buffer.
func (s *scratch) after(rows *Rows) []float64 {
	out := s.work[1]
	for i := range out {
		out[i] = 0
		if rows.bootstraps(i) {
			out[i] = rows.Bootstrap[i]
		}
	}
	return out
}

// bootstrap returns the values after truncated rows in step order, in the
// second work buffer, or nil if the batch has none.
func (s *scratch) bootstrap(rows *Rows) []float64 {
	if rows.Bootstrap == nil {
		return nil
	}
	out := s.work[1]
	for k, i := range s.order.rows {
		out[k] = 0
		if rows.bootstraps(int(i)) {
			out[k] = rows.Bootstrap[i]
		}
	}
	return out
}

// votes returns the rows that enter the mean of episode scores.
func (s *scratch) votes(scope Scope) []bool {
	if scope == OverSteps {
		return nil
	}
	return s.order.first
}

// PenaliseInvalid writes x, less the coefficient where the action was invalid,
// into dst and returns dst. Estimate applies it to episode scores and, after
// discounting, to returns.
//
// Shapes: dst, x, valid [rows]; valid nil means that all were.
// Aliasing: dst may be x.
// Source: reference implementation of arXiv 2505.10978.
func PenaliseInvalid(dst, x []float64, valid []bool, coefficient float64) []float64 {
	sameLength(len(dst), "values", len(x))
	copy(dst, x)
	if valid == nil {
		return dst
	}
	sameLength(len(dst), "valid", len(valid))
	for i, ok := range valid {
		if !ok {
			dst[i] -= coefficient
		}
	}
	return dst
}
