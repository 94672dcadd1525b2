package reference_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/losstest"
	"github.com/merit-rl/merit/core/learn/internal/net"
	"github.com/merit-rl/merit/core/learn/internal/reference"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// slopes compares the gradient with central differences of the objective.
func slopes(t *testing.T, n *net.Net, params []float64, o loss.Objective, rows *loss.Rows, stop *reference.Result) {
	t.Helper()
	got := reference.Gradient(n, params, o, rows)
	require.Len(t, got.Gradient, n.Params)
	const h = 1e-6
	for i := 0; i < n.Params; i += max(1, n.Params/199) {
		at := params[i]
		params[i] = at + h
		above := reference.Loss(n, params, o, rows, stop)
		params[i] = at - h
		below := reference.Loss(n, params, o, rows, stop)
		params[i] = at
		require.InDelta(t, (above-below)/(2*h), got.Gradient[i], 1e-7, fmt.Sprintf("parameter %d", i))
	}
}

// Promise: the reference gradient is the slope of the reference objective, for
// every surrogate, term, activation and kind of layer, by central differences
// in double precision; what the objective calls constant is held constant.
func TestGradientIsTheSlope(t *testing.T) {
	testneeds.NotShort(t)
	for _, c := range append(losstest.Cases(), losstest.Wider()...) {
		t.Run(c.Name, func(t *testing.T) {
			n, params, rows := c.Make(t, 6)
			stop := reference.Gradient(n, wide(params), c.Objective, rows)
			require.InDelta(t, stop.Loss, reference.Loss(n, wide(params), c.Objective, rows, &stop), 1e-12)
			slopes(t, n, wide(params), c.Objective, rows, &stop)
		})
	}
}

// Promise: where the rows of a sequence share one advantage and weight, the
// gradient is that of GSPO itself, with nothing held constant.
func TestSequencesWithOneAdvantage(t *testing.T) {
	for _, c := range append(losstest.Cases(), losstest.Wider()...) {
		if !c.Objective.Sequence || c.Objective.Surrogate != loss.Clip {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			n, params, rows := c.Make(t, 8)
			for i, s := range rows.Sequence {
				rows.Advantage[i], rows.Weight[i] = []float32{0.7, -1.1, 0.4}[s%3], 0.1
			}
			slopes(t, n, wide(params), c.Objective, rows, nil)
		})
	}
}
