package rubric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/rubric"
)

func totals(values ...float64) *rubric.Evaluation {
	e := &rubric.Evaluation{}
	for _, v := range values {
		if v < 0 {
			e.Totals = append(e.Totals, nil)
		} else {
			e.Totals = append(e.Totals, &v)
		}
	}
	return e
}

// Promise: only outputs with both totals count, and undefined numbers are nil.
func TestAgree(t *testing.T) {
	a := rubric.Agree(totals(0.1, -1, 0.5, 0.9, 0.3), totals(0.2, 0.4, 0.6, 0.8, -1))
	require.Equal(t, 3, a.Outputs)
	require.Equal(t, 1.0, *a.Spearman)
	require.InDelta(t, 0.9819805061, *a.Pearson, 1e-9)
	require.InDelta(t, 0.1, *a.MeanAbsoluteDifference, 1e-12)

	// Equal except for the order of their sums.
	a = rubric.Agree(totals(0.6000000000000001, 0.6, 1), totals(0.6, 0.6, 1))
	require.Equal(t, 1.0, *a.Spearman)

	a = rubric.Agree(totals(0.5, 0.5), totals(0.2, 0.4))
	require.Nil(t, a.Spearman)
	require.Nil(t, a.Pearson)
	require.InDelta(t, 0.2, *a.MeanAbsoluteDifference, 1e-12)
	require.Equal(t, rubric.Agreement{}, rubric.Agree(totals(-1), totals(1)))
}
