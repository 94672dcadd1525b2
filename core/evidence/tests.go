package evidence

import (
	"slices"

	"github.com/merit-rl/merit/core/stats"
)

// few is the number of observations below which a test must not assume that means
// are normal.
const few = 25

// inPairs fills in interval and test of episodes from the same starts. A start
// that was played more than once, or a task, counts once.
func (d *Difference) inPairs(before, after column) {
	x := make([]float64, len(before.x))
	for i := range x {
		x[i] = after.x[i] - before.x[i]
	}
	units := stats.ClusterBy(after.units)
	_, d.Interval[0], d.Interval[1] = units.Bootstrap(x, seed)
	d.notOfOne(units)
	means := perUnit(x, units)
	share := shares(before.x, after.x)
	switch {
	case share && after.tasks:
		d.Test = "exact sign-flip of the differences of tasks, two-sided"
	case share && len(means) < len(x):
		d.Test = "exact sign-flip of the differences of starts, two-sided"
	case share:
		d.Test = "exact McNemar, paired by start, two-sided"
	case after.tasks:
		d.Test = "Wilcoxon signed ranks of the tasks' mean differences, two-sided"
	default:
		d.Test = "Wilcoxon signed ranks, paired by start, two-sided"
	}
	if share {
		d.PValue = units.Paired(succeeded(before.x), succeeded(after.x))
		return
	}
	d.PValue = stats.SignedRank(means)
}

// apart fills in interval and test of episodes from other starts.
func (d *Difference) apart(before, after column) {
	inBefore, inAfter := stats.ClusterBy(before.units), stats.ClusterBy(after.units)
	_, d.Interval[0], d.Interval[1] = stats.BootstrapDifference(before.x, after.x, inBefore, inAfter, seed)
	d.notOfOne(inBefore)
	d.notOfOne(inAfter)
	what := "starts"
	if after.tasks {
		what = "tasks"
	}
	b, a := perUnit(before.x, inBefore), perUnit(after.x, inAfter)
	if min(len(b), len(a)) < few {
		d.Test, d.PValue = "Wilcoxon rank sums of "+what+", two-sided", stats.RankSum(b, a)
		return
	}
	d.Test = "Welch, of " + what + ", two-sided"
	_, _, _, d.PValue = stats.Welch(b, a)
}

// notOfOne widens the interval to include 0 if all episodes have the same start or
// task: their spread is unknown.
func (d *Difference) notOfOne(units stats.Clusters) {
	if slices.Max(units) == 0 {
		d.Interval[0], d.Interval[1] = min(d.Interval[0], 0), max(d.Interval[1], 0)
	}
}

// perUnit gives the mean of x for each cluster.
func perUnit(x []float64, units stats.Clusters) []float64 {
	mean, n := make([]float64, slices.Max(units)+1), make([]float64, slices.Max(units)+1)
	for i, s := range units {
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
