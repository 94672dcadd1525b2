package evidence

import (
	"slices"

	"github.com/merit-rl/merit/core/train/stats"
)

// few is how many observations are too few for a test that takes means for
// normal.
const few = 25

// inPairs fills in interval and test of episodes from the same starts. A start
// that was played more than once counts once.
func (d *Difference) inPairs(before, after column) {
	x := make([]float64, len(before.x))
	for i := range x {
		x[i] = after.x[i] - before.x[i]
	}
	starts := stats.ClusterBy(after.starts)
	_, d.Interval[0], d.Interval[1] = starts.Bootstrap(x, seed)
	d.notOfOne(starts)
	ofStarts := perStart(x, starts)
	if !shares(before.x, after.x) {
		d.Test, d.PValue = "Wilcoxon signed ranks, paired by start, two-sided", stats.SignedRank(ofStarts)
		return
	}
	d.Test = "exact McNemar, paired by start, two-sided"
	if len(ofStarts) < len(x) {
		d.Test = "exact sign-flip of the differences of starts, two-sided"
	}
	d.PValue = starts.Paired(succeeded(before.x), succeeded(after.x))
}

// apart fills in interval and test of episodes from other starts.
func (d *Difference) apart(before, after column) {
	inBefore, inAfter := stats.ClusterBy(before.starts), stats.ClusterBy(after.starts)
	_, d.Interval[0], d.Interval[1] = stats.BootstrapDifference(before.x, after.x, inBefore, inAfter, seed)
	d.notOfOne(inBefore)
	d.notOfOne(inAfter)
	b, a := perStart(before.x, inBefore), perStart(after.x, inAfter)
	if min(len(b), len(a)) < few {
		d.Test, d.PValue = "Wilcoxon rank sums of starts, two-sided", stats.RankSum(b, a)
		return
	}
	d.Test = "Welch, of starts, two-sided"
	_, _, _, d.PValue = stats.Welch(b, a)
}

// notOfOne widens the interval to 0 where all episodes have one start: their
// spread is unknown, and no interval has a width.
func (d *Difference) notOfOne(starts stats.Clusters) {
	if slices.Max(starts) == 0 {
		d.Interval[0], d.Interval[1] = min(d.Interval[0], 0), max(d.Interval[1], 0)
	}
}

// perStart gives the mean of x for each start.
func perStart(x []float64, starts stats.Clusters) []float64 {
	mean, n := make([]float64, slices.Max(starts)+1), make([]float64, slices.Max(starts)+1)
	for i, s := range starts {
		n[s]++
		mean[s] += (x[i] - mean[s]) / n[s]
	}
	return mean
}

func succeeded(x []float64) []bool {
	out := make([]bool, len(x))
	for i, v := range x {
		out[i] = v > 0
	}
	return out
}
