// Package train is the loop: collect → score → align → advantage → update →
// record, with validation, early stop, checkpoints, resume and the final table
// of the untrained against the trained policy.
//
// Everything a run does is a function of its settings, its seed and the reward
// modules; wall clock goes into "time" fields only. Environments and rewards
// come in as Deps.
package train
