package rewardspage

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// mostBars is how many bars a histogram has, and how many different scores
// have a bar of their own.
const mostBars = 24

// Spread is how the scores of a reward are distributed, and what was no score.
// Without scores all figures are nil: none of them is 0.
type Spread struct {
	Scored   int       `json:"scored"`
	Mean     *float64  `json:"mean"`
	Deviates *float64  `json:"sd"` // of the sample; nil below two scores
	Least    *float64  `json:"least"`
	Quarters []float64 `json:"quarters,omitempty"` // first quartile, median, third
	Most     *float64  `json:"most"`
	Bars     []Bar     `json:"bars"`
	Unscored []Count   `json:"unscored,omitempty"` // outcomes that are no scores, most first
}

// Bar counts scores: those of one value if From and To are equal, else those
// from From to below To; in the last bar To too.
type Bar struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	N    int     `json:"n"`
}

// Count counts an outcome.
type Count struct {
	Outcome string `json:"outcome"`
	N       int    `json:"n"`
}

// spread sorts scores, so that their order has no say in any figure.
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

// bars of sorted scores: one a value if there are few values, else bars of one
// width that is 1, 2 or 5 times a power of ten.
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

// fill counts scores in bars like those of like, which hold them all.
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

// edges are at most mostBars+1 numbers that rise, around least and most. Where
// decimal ones do not rise, for floats that are too close or too far apart,
// the ends are the only two.
func edges(least, most float64) []float64 {
	whole := []float64{least, most}
	raw := (most/2 - least/2) / (mostBars - 2) * 2
	if raw <= 0 || math.IsInf(raw, 0) {
		return whole
	}
	power := math.Floor(math.Log10(raw))
	for _, digit := range []float64{1, 2, 5, 10} {
		// 3 tenths are written as 3/10: 3*0.1 is another number.
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

// finite is x, or nil where sums of huge scores are no number.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
