// Package labelspage has the page of merit ui on which people say what traces are
// worth: which of two is better, or whether one is good, by one key each; and
// what raters said together, their agreement and the scores that follow.
//
// Raters see what agents did, not how it was rewarded: a score beside it would
// be what they say.
package labelspage
