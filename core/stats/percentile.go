package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Percentile returns the percentile bootstrap interval at Confidence of a
// statistic that is no mean, such as a correlation: whole clusters are drawn.
// The statistic gets the observations of a sample by their positions, some of
// them several times, and may say NaN where it is not defined; such samples
// count at neither end. Fewer than two clusters, or samples of which none has a
// value, give NaN.
//
// With few clusters, a dozen, such an interval is a little too narrow. Cost:
// resamples calls. It is a function of its arguments. Source: Davison and
// Hinkley, Bootstrap Methods and their Application (1997), sections 3.8 and 5.3.
func (c Clusters) Percentile(statistic func(at []int) float64, resamples int, seed uint64) (low, high float64) {
	members := make([][]int, c.count())
	for i, id := range c {
		members[id] = append(members[id], i)
	}
	if len(members) < 2 {
		return math.NaN(), math.NaN()
	}
	r := rand.NewPCG(seed, 0x6d65726974)
	var drawn []float64
	at := make([]int, 0, len(c))
	for range resamples {
		at = at[:0]
		for range members {
			k, _ := bits.Mul64(r.Uint64(), uint64(len(members)))
			at = append(at, members[k]...)
		}
		if v := statistic(at); !math.IsNaN(v) {
			drawn = append(drawn, v)
		}
	}
	if len(drawn) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(drawn)
	return stat.Quantile((1-Confidence)/2, stat.LinInterp, drawn, nil), stat.Quantile((1+Confidence)/2, stat.LinInterp, drawn, nil)
}
