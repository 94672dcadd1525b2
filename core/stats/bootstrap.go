package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// resamples is how many samples a bootstrap draws.
const resamples = 10_000

// Bootstrap returns the mean of x and its bootstrap interval at Confidence,
// bias-corrected and accelerated (BCa): unlike Student's interval it follows a
// skewed distribution. It is a function of x and seed. If fewer than two values
// differ, the interval is the mean itself.
//
// Cost: resamples × len(x). Source: Efron, JASA 82 (1987) 171–185.
func Bootstrap(x []float64, seed uint64) (mean, low, high float64) {
	return ClusterBy(make([]string, len(x))).Bootstrap(x, seed)
}

// Bootstrap is [Bootstrap] for observations that are not independent: it draws
// whole clusters.
//
// Shapes: x [len(c)]. Source: Davison and Hinkley, Bootstrap Methods and their
// Application (1997), section 3.8.
func (c Clusters) Bootstrap(x []float64, seed uint64) (mean, low, high float64) {
	return bootstrap(seed, c.sums(x))
}

// BootstrapDifference returns mean(b) − mean(a) of two independent samples and
// its interval, as [Bootstrap] does; each sample is resampled separately. Empty
// clusters mean that all observations are independent.
//
// Shapes: a [len(inA)], b [len(inB)]. Source: Efron and Tibshirani, An
// Introduction to the Bootstrap (1993), sections 8.3 and 14.
func BootstrapDifference(a, b []float64, inA, inB Clusters, seed uint64) (difference, low, high float64) {
	if len(inA) == 0 {
		inA = ClusterBy(make([]string, len(a)))
	}
	if len(inB) == 0 {
		inB = ClusterBy(make([]string, len(b)))
	}
	return bootstrap(seed, inB.sums(b), inA.sums(a))
}

// sums are what is resampled: the sum and the number of observations of each
// cluster.
type sums struct{ sum, n []float64 }

func (c Clusters) sums(x []float64) sums {
	s := sums{make([]float64, c.count()), make([]float64, c.count())}
	for i, id := range c {
		s.sum[id] += x[i]
		s.n[id]++
	}
	return s
}

func (s sums) total() (sum, n float64) {
	for i := range s.sum {
		sum, n = sum+s.sum[i], n+s.n[i]
	}
	return sum, n
}

func (s sums) mean() float64 {
	sum, n := s.total()
	if n == 0 {
		return 0
	}
	return sum / n
}

// draw returns the mean of a sample with the same number of clusters, drawn
// with replacement.
func (s sums) draw(r *rand.PCG) float64 {
	sum, n := 0.0, 0.0
	for range s.sum {
		i, _ := bits.Mul64(r.Uint64(), uint64(len(s.sum)))
		sum, n = sum+s.sum[i], n+s.n[i]
	}
	return sum / n
}

// influence returns how much each cluster moves the mean, by the jackknife,
// divided by the number of clusters.
func (s sums) influence() []float64 {
	u := make([]float64, len(s.sum))
	sum, n := s.total()
	for i := range u {
		u[i] = (sum - s.sum[i]) / (n - s.n[i])
	}
	centre := stat.Mean(u, nil)
	for i := range u {
		u[i] = (centre - u[i]) * float64(len(u)-1) / float64(len(u))
	}
	return u
}

// bootstrap returns the mean of the first sample minus those of the others, and
// its interval.
func bootstrap(seed uint64, samples ...sums) (value, low, high float64) {
	value = signed(samples, sums.mean)
	second, third := 0.0, 0.0
	for k, s := range samples {
		if len(s.sum) < 2 {
			return value, value, value
		}
		for _, u := range s.influence() {
			if k > 0 {
				u = -u
			}
			second, third = second+u*u, third+u*u*u
		}
	}
	if second == 0 {
		return value, value, value
	}
	acceleration := third / (6 * math.Pow(second, 1.5))
	r := rand.NewPCG(seed, 0x6d65726974)
	drawn := make([]float64, resamples)
	below := 0.0
	for i := range drawn {
		drawn[i] = signed(samples, func(s sums) float64 { return s.draw(r) })
		switch {
		case drawn[i] < value:
			below++
		case drawn[i] == value:
			below += 0.5
		}
	}
	slices.Sort(drawn)
	// If all samples were on one side of the value, the bias would be infinite.
	bias := distuv.UnitNormal.Quantile(min(max(below, 0.5), resamples-0.5) / resamples)
	bound := func(p float64) float64 {
		z := bias + distuv.UnitNormal.Quantile(p)
		p = distuv.UnitNormal.CDF(bias + z/(1-acceleration*z))
		return stat.Quantile(p, stat.LinInterp, drawn, nil)
	}
	return value, bound((1 - Confidence) / 2), bound((1 + Confidence) / 2)
}

// signed returns f of the first sample minus f of the others.
func signed(samples []sums, f func(sums) float64) float64 {
	value := f(samples[0])
	for _, s := range samples[1:] {
		value -= f(s)
	}
	return value
}
