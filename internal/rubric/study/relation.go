package study

import (
	"math"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/rubric"
)

// Estimate is a figure with its interval at stats.Confidence: a bootstrap over truths.
type Estimate struct {
	Value    float64    `json:"value"`
	Interval [2]float64 `json:"interval"`
}

// Relation is the correlation of a reward with one measure of quality. Undefined values, such
// as those of constant data, are nil.
type Relation struct {
	// Pearson and Spearman are over all rubrics of all cases.
	Pearson  *Estimate `json:"pearson"`
	Spearman *Estimate `json:"spearman"`
	// Within is the mean over cases of Spearman's correlation over the rubrics of the case:
	// what training sees when it compares episodes from one start.
	Within *Estimate `json:"within"`
}

// resamples is how many samples the bootstrap of a correlation draws: enough for two digits,
// in a fraction of a second.
const resamples = 1000

// relate correlates the scores with quality, over the observations with a score.
func relate(observations []Observation, quality func(Observation) float64, seed uint64) Relation {
	var paid, good []float64
	var truths []string
	cases := map[int][]int{}
	var order []int
	for _, o := range observations {
		if o.Paid.Outcome != reward.Scored {
			continue
		}
		if cases[o.Case] == nil {
			order = append(order, o.Case)
		}
		cases[o.Case] = append(cases[o.Case], len(paid))
		paid, good, truths = append(paid, o.Paid.Result.Score), append(good, quality(o)), append(truths, o.Truth)
	}
	var r Relation
	r.Pearson = correlate(stats.Pearson, paid, good, truths, seed)
	r.Spearman = correlate(stats.Spearman, paid, good, truths, seed)
	var within []float64
	var of []string
	for _, c := range order {
		if rho, ok := stats.Spearman(at(paid, cases[c]), at(good, cases[c])); ok {
			within, of = append(within, rho), append(of, truths[cases[c][0]])
		}
	}
	if len(within) > 0 {
		var e Estimate
		e.Value, e.Interval[0], e.Interval[1] = stats.ClusterBy(of).Bootstrap(within, seed)
		r.Within = &e
	}
	return r
}

// correlate estimates a correlation over all observations.
func correlate(correlation func(x, y []float64) (float64, bool), x, y []float64, truths []string, seed uint64) *Estimate {
	value, ok := correlation(x, y)
	if !ok {
		return nil
	}
	low, high := stats.ClusterBy(truths).Percentile(func(sample []int) float64 {
		v, ok := correlation(at(x, sample), at(y, sample))
		if !ok {
			return math.NaN()
		}
		return v
	}, resamples, seed)
	if math.IsNaN(low) {
		return nil // a single truth has no interval
	}
	return &Estimate{Value: value, Interval: [2]float64{low, high}}
}

// at returns the values of x at positions.
func at(x []float64, positions []int) []float64 {
	out := make([]float64, len(positions))
	for i, p := range positions {
		out[i] = x[p]
	}
	return out
}

// agreement measures how far a rubric agrees with the truth, which has all totals. An output
// without a total counts as the largest difference. The order is that of the other outputs,
// and counts by their share. A rubric with equal totals has no order.
func agreement(written, truth *rubric.Evaluation) (rank, near float64) {
	a := rubric.Agree(written, truth)
	share := float64(a.Outputs) / max(1, float64(len(truth.Totals)))
	if a.Spearman != nil {
		rank = *a.Spearman * share
	}
	if a.MeanAbsoluteDifference != nil {
		near = (1 - *a.MeanAbsoluteDifference) * share
	}
	return rank, near
}
