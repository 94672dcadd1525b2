package live

import (
	"math"
	"strings"
)

// levels are the characters of a bar, the lowest first.
var levels = []rune("▁▂▃▄▅▆▇█")

// Spark draws values as bars between low and high, oldest first, in at most width columns. If
// there are more values than columns, each column is the mean of its values. Values that are
// not finite are gaps.
func Spark(values []float64, width int, low, high float64) string {
	var b strings.Builder
	for i := range min(len(values), width) {
		part := values
		if len(values) > width {
			part = values[i*len(values)/width : (i+1)*len(values)/width]
		} else {
			part = values[i : i+1]
		}
		mean, ok := meanOf(part)
		switch {
		case !ok:
			b.WriteRune(' ')
		case high <= low:
			b.WriteRune(levels[0])
		default:
			at := (mean - low) / (high - low) * float64(len(levels)-1)
			b.WriteRune(levels[int(math.Round(min(max(at, 0), float64(len(levels)-1))))])
		}
	}
	return b.String()
}

// meanOf returns the mean of the finite values and reports whether there are any.
func meanOf(values []float64) (float64, bool) {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(n, 1)), n > 0
}

// spread returns the smallest and the largest finite value.
func spread(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
