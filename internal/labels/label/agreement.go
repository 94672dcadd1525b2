package label

import (
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/stats"
)

// Agreement measures how often two raters agree on the same items.
type Agreement struct {
	Items    int     `json:"items"`    // rated by both
	Same     int     `json:"same"`     // rated the same by both
	Observed float64 `json:"observed"` // Same / Items
	Expected float64 `json:"expected"` // agreement expected by chance, given how often each rater uses each label
	// Kappa is Cohen's κ: (Observed - Expected) / (1 - Expected). It is nil if
	// there are no items, or if both raters used only one label, which says nothing
	// about their agreement.
	Kappa *float64 `json:"kappa"`
	// Low and High are the 95 % interval of κ: Wilson's interval of Observed, with
	// Expected fixed. Unlike the interval from the usual standard error, it does not
	// shrink to a point if a few labels all agree.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// Agree compares two raters: a[i] and b[i] are their labels for item i. Source: Cohen
// (1960), A coefficient of agreement for nominal scales.
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
