package advantage

import "math"

// Norm says how a value is compared with its group.
type Norm struct {
	Normalization Normalization
	Epsilon       float64
	Singleton     Singleton // for groups of one
}

// EpisodeAdvantages writes episode advantages into dst and returns dst.
//
//	A_E = (R − mean) / F,  F = 1 or std + ε, std with divisor n−1
//
// over the votes of the row's group. A group with one vote gets 0, or R (over
// 1+ε under mean_std_norm) with SingletonRaw.
//
// Shapes: dst, scores, group, votes [rows]. group < 0 takes no part and gets
// 0. votes marks the rows that enter mean and std: the first of each
// trajectory for the scope trajectories, nil (all rows) for the scope steps.
// Aliasing: dst may be scores.
// Source: arXiv 2505.10978, Eq. 3; SingletonRaw and the scope steps: its
// reference implementation.
func EpisodeAdvantages(dst, scores []float64, group []int32, votes []bool, norm Norm) []float64 {
	var buf []moment
	return relative(dst, scores, group, votes, norm, &buf)
}

// StepAdvantages writes step advantages into dst and returns dst.
//
//	A_S = (G − mean) / F
//
// inside the row's anchor group, F as in [EpisodeAdvantages]. A step that is
// alone gets 0.
//
// Shapes: dst, returns, anchors [rows]. anchors < 0 takes no part and gets 0.
// Aliasing: dst may be returns.
// Source: arXiv 2505.10978, Eq. 7.
func StepAdvantages(dst, returns []float64, anchors []int32, norm Norm) []float64 {
	var buf []moment
	norm.Singleton = SingletonZero
	return relative(dst, returns, anchors, nil, norm, &buf)
}

// Combine writes the advantage into dst and returns dst.
//
//	sum:    A = A_E + ω A_S
//	convex: A = ω A_E + (1−ω) A_S
//
// Shapes: dst, episode, step [rows]. Aliasing: dst may be episode or step.
// Source: arXiv 2505.10978, Eq. 8; convex: an earlier form of it.
func Combine(dst, episode, step []float64, form Combination, omega float64) []float64 {
	sameLength(len(dst), "episode", len(episode))
	sameLength(len(dst), "step", len(step))
	we, ws := 1.0, omega
	if form == CombineConvex {
		we, ws = omega, 1-omega
	}
	for i := range dst {
		dst[i] = we*episode[i] + ws*step[i]
	}
	return dst
}

// LeaveOneOut writes RLOO advantages into dst and returns dst.
//
//	A = R_i − mean of the others' R = n/(n−1) · (R_i − mean)
//
// Shapes, votes, group < 0 and aliasing as in [EpisodeAdvantages]; a group
// with one vote gets 0, or R with SingletonRaw.
// Source: arXiv 2402.14740, Eq. 8.
func LeaveOneOut(dst, scores []float64, group []int32, votes []bool, singleton Singleton) []float64 {
	var buf []moment
	return leaveOneOut(dst, scores, group, votes, singleton, &buf)
}

// Whiten writes x with mean 0 and deviation 1 over the batch into dst and
// returns dst.
//
//	(x − mean) / (std + ε), std with divisor n−1
//
// Shapes: dst, x, group [rows]; all rows with group ≥ 0 are one population,
// the others get 0, as does a population of one. Aliasing: dst may be x.
// Source: arXiv 2501.03262 (global advantage normalization).
func Whiten(dst, x []float64, group []int32, epsilon float64) []float64 {
	var buf []moment
	one := make([]int32, len(group))
	return whiten(dst, x, group, nil, epsilon, one, &buf)
}

func whiten(dst, x []float64, group []int32, votes []bool, epsilon float64, one []int32, buf *[]moment) []float64 {
	for i, g := range group {
		one[i] = min(g, 0)
	}
	return relative(dst, x, one, votes, Norm{Normalization: MeanStdNorm, Epsilon: epsilon, Singleton: SingletonZero}, buf)
}

func leaveOneOut(dst, scores []float64, group []int32, votes []bool, singleton Singleton, buf *[]moment) []float64 {
	relative(dst, scores, group, votes, Norm{Normalization: MeanNorm, Singleton: singleton}, buf)
	for i, g := range group {
		if g >= 0 && (*buf)[g].n > 1 {
			n := float64((*buf)[g].n)
			dst[i] *= n / (n - 1)
		}
	}
	return dst
}

// moment holds count, mean and squared deviations of one group's votes.
// The mean is taken relative to the first vote, so that equal values have
// exactly that mean and deviation 0.
type moment struct {
	n                int
	varied           bool // not all votes are equal
	origin, mean, m2 float64
}

// divisor returns F of the group.
func (m *moment) divisor(norm Norm) float64 {
	if norm.Normalization != MeanStdNorm {
		return 1
	}
	return math.Sqrt(m.m2/float64(max(m.n-1, 1))) + norm.Epsilon
}

func relative(dst, x []float64, group []int32, votes []bool, norm Norm, buf *[]moment) []float64 {
	sameLength(len(dst), "values", len(x))
	sameLength(len(dst), "group", len(group))
	if votes != nil {
		sameLength(len(dst), "votes", len(votes))
	}
	m := measure(buf, x, group, votes, norm.Normalization == MeanStdNorm)
	for i, g := range group {
		if g < 0 {
			dst[i] = 0
			continue
		}
		mean, f := m[g].mean, m[g].divisor(norm)
		if m[g].n < 2 {
			if norm.Singleton != SingletonRaw {
				dst[i] = 0
				continue
			}
			mean = 0
			if norm.Normalization == MeanStdNorm {
				f = 1 + norm.Epsilon
			}
		}
		dst[i] = (x[i] - mean) / f
	}
	return dst
}

func measure(buf *[]moment, x []float64, group []int32, votes []bool, deviations bool) []moment {
	m := zeroed(*buf, int(width(group)))
	*buf = m
	for i, g := range group {
		if g < 0 || votes != nil && !votes[i] {
			continue
		}
		if m[g].n == 0 {
			m[g].origin = x[i]
		}
		m[g].n++
		m[g].varied = m[g].varied || x[i] != m[g].origin
		m[g].mean += x[i] - m[g].origin
	}
	for g := range m {
		m[g].mean = m[g].origin + m[g].mean/float64(max(m[g].n, 1))
	}
	if !deviations {
		return m
	}
	for i, g := range group {
		if g < 0 || votes != nil && !votes[i] {
			continue
		}
		d := x[i] - m[g].mean
		m[g].m2 += d * d
	}
	return m
}
