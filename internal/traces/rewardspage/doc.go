// Package rewardspage has the page of merit ui about how rewards are distributed:
// for each reward and agent a histogram of its scores, beside it the outcomes
// that are no scores, and behind every bar the traces that it stands for.
package rewardspage
