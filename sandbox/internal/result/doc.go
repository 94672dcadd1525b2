// Package result is what becomes of what a guest says: the Collector takes it,
// call by call or as one EvaluateResult, checks it and builds the evaluations;
// a Verdict is every other end. The host functions of merit_v1 are here.
package result
