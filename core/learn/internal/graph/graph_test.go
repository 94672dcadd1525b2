package graph_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/graph"
	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/losstest"
	"github.com/merit-rl/merit/core/learn/internal/net"
	"github.com/merit-rl/merit/core/learn/internal/reference"
)

// fill copies the columns of rows into the graph's own.
func fill(g *graph.Graph, rows *loss.Rows) {
	for _, c := range [][2][]float32{
		{g.Rows.Input, rows.Input}, {g.Rows.Shift, rows.Shift}, {g.Rows.Taken, rows.Taken}, {g.Rows.Old, rows.Old},
		{g.Rows.Advantage, rows.Advantage}, {g.Rows.Cap, rows.Cap}, {g.Rows.Reference, rows.Reference},
		{g.Rows.Target, rows.Target}, {g.Rows.Floor, rows.Floor}, {g.Rows.Weight, rows.Weight},
	} {
		copy(c[0], c[1])
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func run(t *testing.T, n *net.Net, params []float32, c loss.Coefficients, rows *loss.Rows) (*graph.Graph, *loss.Result) {
	t.Helper()
	g, err := graph.New(n, params, c, len(rows.Weight))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	fill(g, rows)
	result := loss.NewResult(n.Params, len(rows.Weight))
	require.NoError(t, g.Run(result))
	return g, result
}

// Promise: gorgonia's gradient is that of the reference, to single precision,
// and so are the objective and the values of each row.
func TestGradientMatchesReference(t *testing.T) {
	for _, c := range losstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			n, params, rows := c.Make(t, 23)
			want := reference.Gradient(n, wide(params), c.Coefficients, rows)
			_, got := run(t, n, params, c.Coefficients, rows)
			require.InEpsilon(t, 1+want.Loss, 1+got.Loss, 1e-6)
			require.InDeltaSlice(t, want.Gradient, wide(got.Gradient), 1e-6)
			last := len(want.LogProb) - 1 // padding takes no action
			require.InDeltaSlice(t, want.LogProb[:last], wide(got.LogProb)[:last], 2e-6)
			require.InDeltaSlice(t, want.Entropy[:last], wide(got.Entropy)[:last], 2e-6)
			if n.Critic != nil {
				require.InDeltaSlice(t, want.Value, wide(got.Value), 2e-6)
			}
		})
	}
}

// Promise: a second run gives the same gradient, not the sum of both
// (gorgonia adds), and sees parameters that changed in between.
func TestGradientsDoNotAccumulate(t *testing.T) {
	c := losstest.Cases()[6]
	n, params, rows := c.Make(t, 23)
	g, first := run(t, n, params, c.Coefficients, rows)
	second := loss.NewResult(n.Params, 23)
	require.NoError(t, g.Run(second))
	require.Equal(t, first, second)
	for i := range params {
		params[i] *= 0.5
	}
	require.NoError(t, g.Run(second))
	want := reference.Gradient(n, wide(params), c.Coefficients, rows)
	require.InDeltaSlice(t, want.Gradient, wide(second.Gradient), 1e-6)
}

// Promise: logits in the thousands, far apart between rows, give a finite
// gradient as long as each row is shifted by its own largest logit
// (gorgonia's SoftMax fails here).
func TestLargeLogitsStayFinite(t *testing.T) {
	n, err := net.New(net.Shape{Inputs: 1, Actions: 4})
	require.NoError(t, err)
	params := []float32{5000, 10, -20, 0, 0, 0, 0, 0}
	rows := loss.NewRows(4, 1, 4)
	for i, x := range []float32{1, -1, 0.5, 0} {
		rows.Input[i], rows.Weight[i], rows.Advantage[i], rows.Cap[i] = x, 0.25, 1, 1.2
		top := float32(math.Inf(-1))
		for a := range 4 {
			top = max(top, params[a]*x)
		}
		for a := range 4 {
			rows.Shift[i*4+a] = -top
		}
		rows.Taken[i*4] = 1
	}
	_, got := run(t, n, params, loss.Coefficients{Entropy: 0.01}, rows)
	require.False(t, math.IsNaN(got.Loss) || math.IsInf(got.Loss, 0))
	want := reference.Gradient(n, wide(params), loss.Coefficients{Entropy: 0.01}, rows)
	require.InDeltaSlice(t, want.Gradient, wide(got.Gradient), 1e-6)
}

// Promise: the gradient of a batch is the sum of the gradients of its shards,
// padded to one size, up to rounding.
func TestShardsAddUp(t *testing.T) {
	c := losstest.Cases()[6]
	n, params, rows := c.Make(t, 24)
	_, whole := run(t, n, params, c.Coefficients, rows)
	sum := make([]float64, n.Params)
	for half := range 2 {
		part := loss.NewRows(24, n.Inputs, n.Actions)
		*part = *rows
		part.Weight = slices.Clone(rows.Weight)
		clear(part.Weight[12*half:][:12])
		_, got := run(t, n, params, c.Coefficients, part)
		for i, v := range got.Gradient {
			sum[i] += float64(v)
		}
	}
	require.InDeltaSlice(t, sum, wide(whole.Gradient), 1e-6)
}

// Rows per second through the graph of the quickstart, by rows in a graph.
func BenchmarkRun(b *testing.B) {
	for _, rows := range []int{64, 128, 192, 256, 512, 1024} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			n, err := net.New(net.Shape{Inputs: 147, Hidden: []int{64, 64}, Actions: 4})
			require.NoError(b, err)
			params := n.Draw(net.Init{Scale: 1, FanIn: 24, Last: 0.01}, 1)
			g, err := graph.New(n, params, loss.Coefficients{Entropy: 0.01}, rows)
			require.NoError(b, err)
			for i := range g.Rows.Input {
				if i%6 == 0 {
					g.Rows.Input[i] = 1
				}
			}
			for i := range rows {
				g.Rows.Weight[i], g.Rows.Taken[i*4+i%4] = 1/float32(rows), 1
				g.Rows.Advantage[i], g.Rows.Cap[i] = 1, 1.2
			}
			result := loss.NewResult(n.Params, rows)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, g.Run(result))
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
