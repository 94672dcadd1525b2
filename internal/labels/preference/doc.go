// Package preference asks people which of two policies they prefer. It pairs the episodes
// of both that have the same start, decides for each rater which one is on the left,
// stores the answers, and computes how often raters prefer one policy.
//
// Raters are blind: a question and a stored answer name episodes by digests of their
// contents, never by policy. Only Measure, which has the episodes of both, can tell.
package preference
