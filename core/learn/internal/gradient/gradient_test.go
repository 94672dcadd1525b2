package gradient_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/gradient"
	"github.com/merit-rl/merit/core/learn/internal/graph"
	"github.com/merit-rl/merit/core/learn/internal/losstest"
	"github.com/merit-rl/merit/core/learn/internal/net"
	"github.com/merit-rl/merit/core/learn/internal/reference"
)

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// rows returns room for what a pass of n finds, with the derivatives by it.
func rows(n *net.Net, input []float32, want reference.Result) gradient.Rows {
	count := len(input) / n.Inputs
	r := gradient.Rows{Count: count, Input: input, Logits: make([]float32, count*n.Actions), ByLogit: narrow(want.ByLogit)}
	if n.Critic != nil {
		r.Values, r.ByValue = make([]float32, count), narrow(want.ByValue)
	}
	return r
}

// Promise: for every kind of network the gradient is gorgonia's and that of the
// reference in double precision, whatever the pass has done before.
func TestGradientMatchesGorgoniaAndReference(t *testing.T) {
	for _, c := range losstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			n, params, in := c.Make(t, 23)
			want := reference.Gradient(n, wide(params), c.Objective, in)
			r := rows(n, in.Input, want)

			g, err := graph.New(n, params, r.Count)
			require.NoError(t, err)
			copy(g.Input, r.Input)
			copy(g.ByLogits, r.ByLogit)
			copy(g.ByValues, r.ByValue)
			automatic := make([]float32, n.Params)
			require.NoError(t, g.Run(automatic))
			require.NoError(t, g.Close())

			w, got := gradient.NewWeights(n), make([]float32, n.Params)
			p := gradient.NewPass(n, r.Count)
			for range 2 {
				w.Load(params)
				p.Forward(w, r)
				p.Backward(w, r, got)
				require.InDeltaSlice(t, wide(automatic), wide(got), 1e-6)
				require.InDeltaSlice(t, want.Gradient, wide(got), 1e-6)
			}
			require.Zero(t, testing.AllocsPerRun(5, func() {
				w.Load(params)
				p.Forward(w, r)
				p.Backward(w, r, got)
			}))
		})
	}
}

// Promise: images whose cells are more than one part of a sum give the gradient
// of the reference too.
func TestManyCells(t *testing.T) {
	c := losstest.Cases()[len(losstest.Cases())-2] // two convolutions of 12 cells
	n, params, in := c.Make(t, 60)
	want := reference.Gradient(n, wide(params), c.Objective, in)
	r := rows(n, in.Input, want)
	w, got := gradient.NewWeights(n), make([]float32, n.Params)
	p := gradient.NewPass(n, r.Count)
	w.Load(params)
	p.Forward(w, r)
	p.Backward(w, r, got)
	require.InDeltaSlice(t, want.Gradient, wide(got), 2e-6)
}
