package graph_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/graph"
	"github.com/merit-rl/merit/core/learn/internal/loss"
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

// fill gives g the rows and the derivative that the reference found.
func fill(g *graph.Graph, rows *loss.Rows, want reference.Result) {
	copy(g.Input, rows.Input)
	for i, v := range want.ByLogit {
		g.ByLogits[i] = float32(v)
	}
	for i := range g.ByValues {
		g.ByValues[i] = float32(want.ByValue[i])
	}
}

func build(t *testing.T, n *net.Net, params []float32, rows int) *graph.Graph {
	t.Helper()
	g, err := graph.New(n, params, rows)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// Promise: gorgonia's outputs and gradient are those of the reference, to single
// precision, for every kind of network.
func TestGradientMatchesReference(t *testing.T) {
	for _, c := range append(losstest.Cases(), losstest.Wider()...) {
		t.Run(c.Name, func(t *testing.T) {
			n, params, rows := c.Make(t, 23)
			want := reference.Gradient(n, wide(params), c.Objective, rows)
			g := build(t, n, params, 23)
			fill(g, rows, want)
			got := make([]float32, n.Params)
			require.NoError(t, g.Run(got))
			for i, w := range want.Gradient {
				require.InDelta(t, w, got[i], 2e-6*max(1, math.Abs(w)))
			}
			logits, values, err := g.Forward()
			require.NoError(t, err)
			require.InDeltaSlice(t, want.Logits, wide(logits), 5e-6)
			if n.Critic != nil {
				require.InDeltaSlice(t, want.Value, wide(values), 5e-6)
			}
		})
	}
}

// Promise: a second run gives the same gradient, not the sum of both
// (gorgonia adds), and sees parameters that changed in between.
func TestGradientsDoNotAccumulate(t *testing.T) {
	c := losstest.Cases()[6]
	n, params, rows := c.Make(t, 23)
	g := build(t, n, params, 23)
	fill(g, rows, reference.Gradient(n, wide(params), c.Objective, rows))
	first, second := make([]float32, n.Params), make([]float32, n.Params)
	require.NoError(t, g.Run(first))
	require.NoError(t, g.Run(second))
	require.Equal(t, first, second)
	for i := range params {
		params[i] *= 0.5
	}
	want := reference.Gradient(n, wide(params), c.Objective, rows)
	fill(g, rows, want)
	require.NoError(t, g.Run(second))
	require.InDeltaSlice(t, want.Gradient, wide(second), 1e-6)
}

// Promise: the gradient of a batch is the sum of the gradients of its shards,
// padded to one size, up to rounding.
func TestShardsAddUp(t *testing.T) {
	c := losstest.Cases()[6]
	n, params, rows := c.Make(t, 24)
	g := build(t, n, params, 24)
	want := reference.Gradient(n, wide(params), c.Objective, rows)
	sum, part := make([]float64, n.Params), make([]float32, n.Params)
	for half := range 2 {
		fill(g, rows, want)
		clear(g.ByLogits[12*half*n.Actions:][:12*n.Actions])
		clear(g.ByValues[12*half:][:12])
		require.NoError(t, g.Run(part))
		for i, v := range part {
			sum[i] += float64(v)
		}
	}
	require.InDeltaSlice(t, want.Gradient, sum, 1e-6)
}

// Rows per second through the graph of the quickstart, by rows in a graph.
func BenchmarkRun(b *testing.B) {
	for _, rows := range []int{64, 128, 192, 256, 512, 1024} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			n, err := net.New(net.Shape{Inputs: 147, Hidden: []int{64, 64}, Actions: 4})
			require.NoError(b, err)
			params := n.Draw(net.Init{Scale: 1, FanIn: 24, Last: 0.01}, 1)
			g, err := graph.New(n, params, rows)
			require.NoError(b, err)
			for i := range g.Input {
				if i%6 == 0 {
					g.Input[i] = 1
				}
			}
			for i := range g.ByLogits {
				g.ByLogits[i] = 1 / float32(rows)
			}
			gradient := make([]float32, n.Params)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, g.Run(gradient))
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
