package loss_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/losstest"
	"github.com/merit-rl/merit/core/learn/internal/reference"
)

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Promise: for every surrogate and term, the objective of each row and its
// derivative by logits and value are those of the double-precision reference,
// whatever parts a minibatch is done in.
func TestDerivativeMatchesReference(t *testing.T) {
	const n = 23
	for _, c := range losstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			network, params, rows := c.Make(t, n)
			o := c.Objective
			want := reference.Gradient(network, wide(params), o, rows)
			logits := narrow(want.Logits)
			var values, dvalues []float32
			if network.Critic != nil {
				values, dvalues = narrow(want.Value), make([]float32, n)
			}
			out, dlogits := loss.NewResult(n), make([]float32, len(logits))
			for _, part := range [][2]int{{9, 23}, {0, 4}, {4, 9}} {
				o.LogProbs(rows, logits, out, part[0], part[1])
			}
			o.Couple(rows, out, n)
			for _, part := range [][2]int{{13, 23}, {0, 13}} {
				o.Derive(rows, logits, values, out, dlogits, dvalues, part[0], part[1])
			}
			var total float64
			cuts := map[loss.Cut]int{}
			for i, l := range out.Loss {
				total += float64(rows.Weight[i]) * l
				require.InDelta(t, want.Ratio[i], math.Exp(out.LogRatio[i]), 1e-6)
				cuts[out.Cut[i]]++
			}
			require.InDelta(t, want.Loss, total, 1e-6)
			require.InDeltaSlice(t, want.LogProb, wide(out.LogProb), 1e-6)
			require.InDeltaSlice(t, want.Entropy, wide(out.Entropy), 1e-6)
			require.InDeltaSlice(t, want.ByLogit, wide(dlogits), 5e-7)
			if dvalues != nil {
				require.InDeltaSlice(t, want.ByValue, wide(dvalues), 5e-7)
			}
			if c.Shape.Actions > 1 && o.Surrogate != loss.SAPO {
				require.NotZero(t, cuts[loss.CutClip], "no row is cut, so the case shows less than it says")
			}
			require.Equal(t, o.Dual > 0, cuts[loss.CutDual] > 0)
		})
	}
}

// Promise: logits in the thousands, far apart between rows, and ratios beyond
// any number give finite derivatives where the surrogate bounds them.
func TestExtremesStayFinite(t *testing.T) {
	rows := loss.NewRows(2, 0, 2)
	for i := range rows.Mask {
		rows.Mask[i] = 1
	}
	logits := []float32{8000, 1, -9000, -1}
	rows.Action[1] = 1
	rows.Old[0], rows.Old[1] = -1e4, -1e4
	rows.Weight[0], rows.Weight[1] = 1, 1
	rows.Advantage[0], rows.Advantage[1] = 1, -1
	for name, o := range map[string]loss.Objective{
		"dual clip": {Low: 0.2, High: 0.2, Dual: 3, Entropy: 0.1},
		"cispo":     {Low: 0.2, High: 0.2, Surrogate: loss.CISPO, Entropy: 0.1},
		"sapo":      {Surrogate: loss.SAPO, Tau: [2]float64{1, 1.05}, Entropy: 0.1},
	} {
		out, dlogits := loss.NewResult(2), make([]float32, 4)
		o.LogProbs(rows, logits, out, 0, 2)
		o.Derive(rows, logits, nil, out, dlogits, nil, 0, 2)
		for i, x := range append(wide(dlogits), out.Loss...) {
			require.False(t, math.IsNaN(x) || math.IsInf(x, 0), "%s: number %d is %v", name, i, x)
		}
	}
}

// Nanoseconds per row of four actions.
func BenchmarkObjective(b *testing.B) {
	const n = 1024
	rows := loss.NewRows(n, 0, 4)
	for i := range n {
		rows.Action[i], rows.Weight[i], rows.Advantage[i], rows.Old[i] = int32(i%4), 1, 1, -1.4
	}
	for i := range rows.Mask {
		rows.Mask[i] = 1
	}
	logits, dlogits, out := make([]float32, 4*n), make([]float32, 4*n), loss.NewResult(n)
	for i := range logits {
		logits[i] = float32(i%7) / 3
	}
	o := loss.Objective{Low: 0.2, High: 0.2, Entropy: 0.01}
	b.ReportAllocs()
	for b.Loop() {
		o.LogProbs(rows, logits, out, 0, n)
		o.Couple(rows, out, n)
		o.Derive(rows, logits, nil, out, dlogits, nil, 0, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
