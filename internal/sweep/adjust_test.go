package sweep

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: Holm's correction spans all tasks of a panel. The values are those of R's
// p.adjust(c(0.01, 0.04, 0.03, 0.5), "holm").
func TestHolm(t *testing.T) {
	row := func(p float64) Row { return Row{Difference: &Difference{P: p}} }
	p := PanelResult{Tasks: []Beside{{Rows: []Row{{}, row(0.01), row(0.04)}}, {Rows: []Row{{}, row(0.03), row(0.5)}}}}
	adjust(p)
	var got []float64
	for _, b := range p.Tasks {
		for _, r := range b.Rows[1:] {
			got = append(got, r.Difference.Adjusted)
		}
	}
	require.InDeltaSlice(t, []float64{0.04, 0.09, 0.09, 0.5}, got, 1e-12)
}
