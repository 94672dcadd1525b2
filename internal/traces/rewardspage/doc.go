// Package rewardspage implements the page of merit ui that shows the distribution of
// rewards: for each reward and agent a histogram of its scores, the outcomes without a
// score, and for every bar the traces in it.
package rewardspage
