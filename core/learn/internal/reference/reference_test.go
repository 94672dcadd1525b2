package reference_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/losstest"
	"github.com/merit-rl/merit/core/learn/internal/reference"
)

// Promise: the reference gradient is the slope of the reference objective, for
// every term, activation and kind of layer, by central differences in double
// precision.
func TestGradientIsTheSlope(t *testing.T) {
	for _, c := range losstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			n, params, rows := c.Make(t, 6)
			wide := make([]float64, len(params))
			for i, v := range params {
				wide[i] = float64(v)
			}
			got := reference.Gradient(n, wide, c.Coefficients, rows)
			require.Len(t, got.Gradient, n.Params)
			const h = 1e-6
			for i := 0; i < n.Params; i += max(1, n.Params/199) {
				at := wide[i]
				wide[i] = at + h
				above := reference.Gradient(n, wide, c.Coefficients, rows).Loss
				wide[i] = at - h
				below := reference.Gradient(n, wide, c.Coefficients, rows).Loss
				wide[i] = at
				require.InDelta(t, (above-below)/(2*h), got.Gradient[i], 1e-7, fmt.Sprintf("parameter %d", i))
			}
		})
	}
}
