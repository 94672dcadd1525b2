// Package learn is the embedded neural policy and the PPO learner that
// improves it.
//
// A [Policy] is a small network over the environment's feature tensor or, if
// there is none, over hashed n-grams of the observation text. A [Learner]
// takes [Samples], changes the policy's parameters in place and reports
// [Stats]. All parameters live in one flat slice that inference, optimiser and
// the autodiff graph share.
//
// Results are a function of the samples, the seed and the state alone: the
// number of processors and the size of inference batches leave no trace in
// them, bit for bit, on one type of machine.
package learn
