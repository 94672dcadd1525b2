// Package result turns the answers of a guest into evaluations. The Collector receives
// them, call by call or as one EvaluateResult, checks them and builds the evaluations.
// A Verdict is any other outcome. The host functions of merit_v1 are here.
package result
