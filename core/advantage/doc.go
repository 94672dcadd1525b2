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
