// Package label implements the statistics of labels: the agreement of raters, and
// scores from pairwise comparisons. It is independent of traces and stores.
package label
