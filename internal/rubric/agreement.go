package rubric

import (
	"math"

	"github.com/merit-rl/merit/core/stats"
)

// Agreement measures how far two evaluations of the same outputs agree. Undefined numbers are
// nil: a correlation if fewer than two outputs have both totals, or if one rubric gives all of
// them the same total.
type Agreement struct {
	Outputs                int      `json:"outputs"` // outputs with both totals
	Spearman               *float64 `json:"spearman"`
	Pearson                *float64 `json:"pearson"`
	MeanAbsoluteDifference *float64 `json:"mean_absolute_difference"`
}

// Agree compares the totals of the outputs that have both. It rounds totals to 1e-9, because
// sums in a different order differ in their last bit, which would create meaningless ranks.
func Agree(a, b *Evaluation) Agreement {
	var x, y []float64
	for i := range min(len(a.Totals), len(b.Totals)) {
		if a.Totals[i] != nil && b.Totals[i] != nil {
			x, y = append(x, math.Round(*a.Totals[i]*1e9)/1e9), append(y, math.Round(*b.Totals[i]*1e9)/1e9)
		}
	}
	agreement := Agreement{Outputs: len(x)}
	if rho, ok := stats.Spearman(x, y); ok {
		agreement.Spearman = &rho
	}
	if r, ok := stats.Pearson(x, y); ok {
		agreement.Pearson = &r
	}
	if len(x) > 0 {
		difference := stats.MeanAbsoluteDifference(x, y)
		agreement.MeanAbsoluteDifference = &difference
	}
	return agreement
}
