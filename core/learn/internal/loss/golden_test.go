package loss_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/loss"
)

// golden is a minibatch with the terms and slopes that testdata/surrogates.py found.
type golden struct {
	Surrogate              string
	Low, High, Share, KL   float64
	CovLow                 float64 `json:"cov_low"`
	CovHigh                float64 `json:"cov_high"`
	Tau                    [2]float64
	LogProb                []float64 `json:"log_prob"`
	Old, Advantage, Weight []float64
	Sequence               []int32
	Terms, Slopes          []float64
}

func (g *golden) objective() loss.Objective {
	return loss.Objective{
		Surrogate: map[string]loss.Surrogate{"sapo": loss.SAPO, "gmpo": loss.GMPO, "clip-cov": loss.ClipCov, "kl-cov": loss.KLCov}[g.Surrogate],
		Sequence:  g.Surrogate == "gmpo", Low: g.Low, High: g.High, Tau: g.Tau,
		Cov: loss.Cov{Share: g.Share, Low: g.CovLow, High: g.CovHigh, KL: g.KL},
	}
}

// rows has two actions, of which the first was taken; their logits are their
// log-probabilities.
func (g *golden) rows() (*loss.Rows, []float32) {
	n := len(g.LogProb)
	r, logits := loss.NewRows(n, 0, 2), make([]float32, 2*n)
	for i, p := range g.LogProb {
		r.Old[i], r.Advantage[i], r.Weight[i], r.Sequence[i] = float32(g.Old[i]), float32(g.Advantage[i]), float32(g.Weight[i]), g.Sequence[i]
		r.Mask[2*i], r.Mask[2*i+1] = 1, 1
		logits[2*i], logits[2*i+1] = float32(p), float32(math.Log(-math.Expm1(p)))
	}
	return r, logits
}

// Promise: SAPO, GMPO, clip-cov and kl-cov give the terms and the slopes by the
// log-probability that another implementation, written from their formulas in another
// language, gives.
func TestOtherImplementation(t *testing.T) {
	f, err := os.Open("testdata/surrogates.jsonl")
	require.NoError(t, err)
	defer f.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var g golden
		require.NoError(t, json.Unmarshal(lines.Bytes(), &g))
		r, logits := g.rows()
		n, o := len(g.Terms), g.objective()
		out, slopes := loss.NewResult(n), make([]float32, 2*n)
		o.LogProbs(r, logits, out, 0, n)
		o.Couple(r, out, n)
		o.Derive(r, logits, nil, out, slopes, nil, 0, n)
		require.InDeltaSlice(t, g.Terms, out.Policy, 1e-5, g.Surrogate)
		for i, want := range g.Slopes {
			if g.Weight[i] > 0 { // by the first logit 1 − p of it, by the second −(1 − p)
				require.InDelta(t, want*(1-math.Exp(g.LogProb[i])), slopes[2*i], 1e-4, "%s, row %d", g.Surrogate, i)
			}
		}
		seen[g.Surrogate]++
	}
	require.Equal(t, map[string]int{"sapo": 10, "gmpo": 10, "clip-cov": 10, "kl-cov": 10}, seen)
}
