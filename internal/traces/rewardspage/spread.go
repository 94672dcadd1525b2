package rewardspage

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// mostBars is the maximum number of bars of a histogram, and of different scores that
// each have a separate bar.
const mostBars = 24

// Spread is the distribution of the scores of a reward, with the outcomes without a
// score. If there are no scores, all figures are nil.
type Spread struct {
	Scored   int       `json:"scored"`
	Mean     *float64  `json:"mean"`
	Deviates *float64  `json:"sd"` // sample standard deviation; nil below two scores
	Least    *float64  `json:"least"`
	Quarters []float64 `json:"quarters,omitempty"` // first quartile, median, third
	Most     *float64  `json:"most"`
	Bars     []Bar     `json:"bars"`
	Unscored []Count   `json:"unscored,omitempty"` // outcomes without a score, most frequent first
}

// Bar counts scores: those equal to From if From and To are equal, otherwise those in
// [From, To). The last bar includes To.
type Bar struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	N    int     `json:"n"`
}

// Count is the number of times an outcome occurred.
type Count struct {
	Outcome string `json:"outcome"`
	N       int    `json:"n"`
}

// spread computes a Spread. It sorts the scores, so that their order does not matter.
func spread(scores []float64, outcomes map[string]int) Spread {
	s := Spread{Scored: len(scores), Bars: []Bar{}}
	for outcome, n := range outcomes {
		s.Unscored = append(s.Unscored, Count{outcome, n})
	}
	slices.SortFunc(s.Unscored, func(a, b Count) int {
		if a.N != b.N {
			return b.N - a.N
		}
		return compare(a.Outcome, b.Outcome)
	})
	n := len(scores)
	if n == 0 {
		return s
	}
	slices.Sort(scores)
	mean := stat.Mean(scores, nil)
	s.Mean, s.Least, s.Most = finite(mean), &scores[0], &scores[n-1]
	if n > 1 {
		s.Deviates = finite(stat.StdDev(scores, nil))
	}
	for _, p := range []float64{0.25, 0.5, 0.75} {
		s.Quarters = append(s.Quarters, stat.Quantile(p, stat.Empirical, scores, nil))
	}
	s.Bars = bars(scores)
	return s
}

// bars returns the bars for sorted scores: one per value if there are few values,
// otherwise bars of one width, which is 1, 2 or 5 times a power of ten.
func bars(sorted []float64) []Bar {
	var out []Bar
	for _, x := range sorted {
		if n := len(out); n > 0 && out[n-1].From == x {
			out[n-1].N++
			continue
		}
		if len(out) == mostBars {
			return ranges(sorted)
		}
		out = append(out, Bar{x, x, 1})
	}
	return out
}

func ranges(sorted []float64) []Bar {
	least, most := sorted[0], sorted[len(sorted)-1]
	edge := edges(least, most)
	out := make([]Bar, len(edge)-1)
	for i := range out {
		out[i] = Bar{From: edge[i], To: edge[i+1]}
	}
	return fill(out, sorted)
}

// fill counts scores in bars with the bounds of like, which cover all scores.
func fill(like []Bar, sorted []float64) []Bar {
	out := slices.Clone(like)
	for i := range out {
		out[i].N = 0
	}
	at := 0
	for _, x := range sorted {
		for at < len(out)-1 && x >= out[at].To && x != out[at].From {
			at++
		}
		out[at].N++
	}
	return out
}

// edges returns at most mostBars+1 ascending numbers that enclose least and most. If
// decimal edges would not be ascending, because the floats are too close or too far
// apart, it returns only the two ends.
func edges(least, most float64) []float64 {
	whole := []float64{least, most}
	raw := (most/2 - least/2) / (mostBars - 2) * 2
	if raw <= 0 || math.IsInf(raw, 0) {
		return whole
	}
	power := math.Floor(math.Log10(raw))
	for _, digit := range []float64{1, 2, 5, 10} {
		// Compute three tenths as 3/10: 3*0.1 is another number.
		mark := func(i float64) float64 { return i * digit * math.Pow(10, power) }
		if power < 0 {
			mark = func(i float64) float64 { return i * digit / math.Pow(10, -power) }
		}
		width := mark(1)
		if width < raw {
			continue
		}
		first, last := math.Floor(least/width), math.Ceil(most/width)
		var out []float64
		for i := first; i <= last && len(out) <= mostBars; i++ {
			out = append(out, mark(i))
		}
		if rises(out) && out[0] <= least && out[len(out)-1] >= most {
			return out
		}
		return whole
	}
	return whole
}

func rises(x []float64) bool {
	for i := range x {
		if math.IsInf(x[i], 0) || math.IsNaN(x[i]) || i > 0 && x[i] <= x[i-1] {
			return false
		}
	}
	return len(x) > 1
}

// finite returns x, or nil if it is not finite, as sums of huge scores may be.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
