package stats

import (
	"cmp"
	"math"
	"slices"
)

// Pearson returns the correlation of x and y, from −1 to 1. It is undefined (ok
// is false) for fewer than two pairs, or if x or y does not vary.
//
// Shapes: x, y [pairs], finite. Source: Pearson, Proceedings of the Royal Society
// 58 (1895) 240–242.
func Pearson(x, y []float64) (r float64, ok bool) {
	if len(x) != len(y) {
		panic("stats: the two slices differ in length")
	}
	if constant(x) || constant(y) {
		return 0, false
	}
	x, y = centred(x), centred(y)
	var xx, yy, xy float64
	for i := range x {
		xx += x[i] * x[i]
		yy += y[i] * y[i]
		xy += x[i] * y[i]
	}
	return min(1, max(-1, xy/math.Sqrt(xx)/math.Sqrt(yy))), true
}

// Spearman returns the correlation of the ranks of x and y, where equal values
// share the mean of their ranks: 1 if both have the same order. It is undefined
// where Pearson is.
//
// Shapes: x, y [pairs], finite. Source: Spearman, American Journal of Psychology
// 15 (1904) 72–101.
func Spearman(x, y []float64) (rho float64, ok bool) { return Pearson(ranks(x), ranks(y)) }

// MeanAbsoluteDifference returns the mean of |x − y|; 0 for no pairs.
//
// Shapes: x, y [pairs], finite.
func MeanAbsoluteDifference(x, y []float64) float64 {
	if len(x) != len(y) {
		panic("stats: the two slices differ in length")
	}
	sum := 0.0
	for i := range x {
		sum += math.Abs(x[i] - y[i])
	}
	return sum / max(float64(len(x)), 1)
}

// ranks returns the rank of each value, from 1 for the smallest; equal values
// share the mean of their ranks.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	ranks := make([]float64, len(x))
	for i := 0; i < len(order); {
		k := i
		for k < len(order) && x[order[k]] == x[order[i]] {
			k++
		}
		for _, at := range order[i:k] {
			ranks[at] = float64(i+1+k) / 2 // the mean of i+1 … k
		}
		i = k
	}
	return ranks
}

// constant reports whether x does not vary.
func constant(x []float64) bool {
	return len(x) < 2 || slices.Min(x) == slices.Max(x)
}

// centred returns x minus its mean, in units of its largest value, so that
// squares do not overflow.
func centred(x []float64) []float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	out, mean := make([]float64, len(x)), 0.0
	for i, v := range x {
		out[i] = v / most
		mean += out[i] / float64(len(x))
	}
	for i := range out {
		out[i] -= mean
	}
	return out
}
