// Package labelspage implements the page of merit ui on which people label traces: they
// choose the better of two, or judge a single one, with one key each. It also shows the
// results: the agreement of raters, and the resulting scores.
//
// Raters see what agents did, but not their rewards, because a visible score would
// influence the label.
package labelspage
