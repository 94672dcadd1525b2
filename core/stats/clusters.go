package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Clusters define which observations are not independent, such as episodes from
// the same start: observations i and k are in one cluster if Clusters[i] ==
// Clusters[k]. Numbers run from 0 without a gap.
type Clusters []int

// ClusterBy returns the clusters of equal keys. An observation with an empty
// key is its own cluster.
func ClusterBy(keys []string) Clusters {
	c := make(Clusters, len(keys))
	known := map[string]int{}
	next := 0
	for i, key := range keys {
		id, ok := known[key]
		if !ok || key == "" {
			id = next
			known[key] = id
			next++
		}
		c[i] = id
	}
	return c
}

// count returns the number of clusters.
func (c Clusters) count() int {
	most := -1
	for _, id := range c {
		most = max(most, id)
	}
	return most + 1
}

// variance returns the variance of the mean of x by the ratio estimator over
// clusters of unequal size: m/(m−1) · Σ_c (Σ_{i∈c} x_i−x̄)² / n², or that of
// independent observations if it is larger. There must be at least two
// clusters.
func (c Clusters) variance(x []float64) float64 {
	n, m := float64(len(x)), float64(c.count())
	mean, variance := stat.MeanVariance(x, nil)
	residual := make([]float64, c.count())
	for i, id := range c {
		residual[id] += x[i] - mean
	}
	sum := 0.0
	for _, r := range residual {
		sum += r * r
	}
	return max(m/(m-1)*sum/(n*n), variance/n)
}

// Mean returns the mean of x and its Student t interval at Confidence, with one
// degree of freedom less than clusters. It equals that of [Mean] if every
// observation is its own cluster, and clustering never makes it narrower. For
// fewer than two clusters it is the mean itself.
//
// Shapes: x [len(c)]. Source: Cochran, Sampling Techniques (1977), chapter 9A;
// for evaluations of models Miller 2024, arXiv 2411.00640.
func (c Clusters) Mean(x []float64) (mean, low, high float64) {
	m := c.count()
	if m == len(x) {
		return Mean(x)
	}
	mean = stat.Mean(x, nil)
	if m < 2 {
		return mean, mean, mean
	}
	half := quantile(m-1) * math.Sqrt(c.variance(x))
	return mean, mean - half, mean + half
}

// Share returns the share of successes and its score interval at Confidence. It
// equals that of [Wilson] if every observation is its own cluster. Otherwise it
// is Wilson's interval with the effective number of observations instead of n:
// n divided by the design effect, corrected for the degrees of freedom. If all
// or none succeed, the design effect is unknown and every cluster counts once.
//
// Shapes: success [len(c)]. Source: Korn and Graubard, Survey Methodology 24
// (1998) 193–201; with Wilson's interval Dean and Pagano, Journal of Survey
// Statistics and Methodology 3 (2015) 484–503.
func (c Clusters) Share(success []bool) (share, low, high float64) {
	x := make([]float64, len(success))
	for i, ok := range success {
		if ok {
			x[i] = 1
		}
	}
	return c.Rate(x)
}

// Rate is [Clusters.Share] for values from 0 to 1, such as the chance of a success at each of
// several tasks: it returns their mean and its score interval at Confidence. The effective
// number of observations is that of successes whose share has the variance of the mean. If
// nothing varies, every cluster counts once.
//
// Shapes: x [len(c)], from 0 to 1. Source: that of Share.
func (c Clusters) Rate(x []float64) (rate, low, high float64) {
	n, m := len(x), c.count()
	if n == 0 {
		return 0, 0, 1
	}
	rate = stat.Mean(x, nil)
	whole := !slices.ContainsFunc(x, func(v float64) bool { return v != 0 && v != 1 })
	if whole && m == n {
		low, high = wilson(rate, float64(n))
		return rate, low, high
	}
	effective := float64(m)
	if m >= 2 && rate > 0 && rate < 1 {
		if variance := c.variance(x); variance > 0 {
			shrink := distuv.UnitNormal.Quantile((1+Confidence)/2) / quantile(m-1)
			if whole {
				shrink = quantile(n-1) / quantile(m-1)
			}
			effective = max(1, rate*(1-rate)/variance*shrink*shrink)
		}
	}
	low, high = wilson(rate, effective)
	return rate, low, high
}

// quantile returns the bound of Student's t with the given degrees of freedom.
func quantile(freedom int) float64 { return quantileOf(float64(freedom)) }

// quantileOf is quantile for any number of degrees of freedom.
func quantileOf(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(1 - (1-Confidence)/2)
}

// Paired returns the two-sided p-value of the exact test that two paired series
// of successes have the same rate. If every pair is its own cluster, it is that
// of [McNemar]. Otherwise the series may be exchanged only for whole clusters,
// so under the hypothesis the difference of each cluster has either sign with
// probability ½. The distribution of the sum is computed, not sampled.
//
// Shapes: a, b [len(c)]. Cost: clusters × pairs. Source: Fisher, The Design of
// Experiments (1935), Section 21, on the clusters' differences.
func (c Clusters) Paired(a, b []bool) float64 {
	if c.count() == len(a) {
		return McNemar(a, b)
	}
	difference := make([]int, c.count())
	for i, id := range c {
		switch {
		case a[i] && !b[i]:
			difference[id]--
		case b[i] && !a[i]:
			difference[id]++
		}
	}
	sum := 0
	for _, d := range difference {
		sum += d
	}
	return signFlips(difference, sum)
}

// signFlips returns the probability that whole numbers with random signs have a
// sum whose absolute value is at least |sum|. The distribution is computed, not
// sampled.
func signFlips(sizes []int, sum int) float64 {
	if sum == 0 {
		return 1
	}
	most := 0
	for _, d := range sizes {
		most += abs(d)
	}
	// chance[s] is the probability that the positive ones have the sum s.
	chance := make([]float64, most+1)
	chance[0] = 1
	reached := 0
	for _, d := range sizes {
		d = abs(d)
		if d == 0 {
			continue
		}
		reached += d
		for s := reached; s >= 0; s-- {
			up := 0.0
			if s >= d {
				up = chance[s-d]
			}
			chance[s] = (chance[s] + up) / 2
		}
	}
	tail := 0.0
	for s := most; 2*s-most >= abs(sum); s-- {
		tail += chance[s]
	}
	return min(1, 2*tail)
}

func abs(x int) int { return max(x, -x) }
