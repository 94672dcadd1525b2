package label

import (
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/stats"
)

// Agreement is how far two raters say the same of the same things.
type Agreement struct {
	Items    int     `json:"items"`    // which both have rated
	Same     int     `json:"same"`     // of which both said the same
	Observed float64 `json:"observed"` // Same / Items
	Expected float64 `json:"expected"` // what chance would give raters who use words as often as these
	// Kappa is Cohen's κ: (Observed - Expected) / (1 - Expected). It is nil if
	// there are no items, or if both have used one word only: nothing is then
	// known of what they tell apart.
	Kappa *float64 `json:"kappa"`
	// Low and High are the 95 % interval of κ: Wilson's interval of Observed,
	// with Expected as it was found. Unlike that of the usual standard error, it
	// does not shrink to a point when a few raters' words all agree.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// Agree compares what two raters said: a[i] and b[i] are their words for item
// number i. Cohen (1960), A coefficient of agreement for nominal scales.
func Agree(a, b []string) Agreement {
	if len(a) != len(b) {
		panic("label: two raters of different items")
	}
	out := Agreement{Items: len(a)}
	if out.Items == 0 {
		return out
	}
	n := float64(len(a))
	counts := map[string][2]float64{}
	for i := range a {
		if a[i] == b[i] {
			out.Same++
		}
		first := counts[a[i]]
		first[0]++
		counts[a[i]] = first
		second := counts[b[i]]
		second[1]++
		counts[b[i]] = second
	}
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		out.Expected += counts[word][0] * counts[word][1] / (n * n)
	}
	out.Observed = float64(out.Same) / n
	if len(counts) == 1 {
		return out
	}
	kappa := func(observed float64) *float64 { return new((observed - out.Expected) / (1 - out.Expected)) }
	low, high := stats.Wilson(out.Same, out.Items)
	out.Kappa, out.Low, out.High = kappa(out.Observed), kappa(low), kappa(high)
	return out
}
