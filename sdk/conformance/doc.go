// Package conformance checks that an SDK reads every field of the guest ABI and
// writes every kind of result. Its guest, one in each language, reports a
// digest of each part of a trajectory; Run compares them with what Go computes
// from the trajectory itself, without the encoder of the ABI. README.md
// describes the digests, and the rules of the examples that exist in every
// language.
package conformance
