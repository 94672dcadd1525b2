package rewardspage

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: few values have a bar each; figures are those of the scores in any
// order.
func TestSpreadOfFewValues(t *testing.T) {
	s := spread([]float64{1, 0, -0.5, 1, 1}, map[string]int{"timeout": 1, "trap": 3, "invalid": 1})
	require.Equal(t, []Bar{{-0.5, -0.5, 1}, {0, 0, 1}, {1, 1, 3}}, s.Bars)
	require.Equal(t, 5, s.Scored)
	require.InDelta(t, 0.5, *s.Mean, 1e-12)
	require.InDelta(t, math.Sqrt(2)/2, *s.Deviates, 1e-12)
	require.Equal(t, []float64{0, 1, 1}, s.Quarters)
	require.Equal(t, []Count{{"trap", 3}, {"invalid", 1}, {"timeout", 1}}, s.Unscored)
}

// Promise: without a score no figure is a number, and none is 0.
func TestSpreadOfNothing(t *testing.T) {
	text, err := json.Marshal(spread(nil, map[string]int{"timeout": 2}))
	require.NoError(t, err)
	require.JSONEq(t, `{"scored":0,"mean":null,"sd":null,"least":null,"most":null,"bars":[],"unscored":[{"outcome":"timeout","n":2}]}`, string(text))
}

// Promise: whatever the scores, every one is in one bar, bars rise without a
// gap, there are at most mostBars, and all of it is JSON.
func TestSpreadOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cases := map[string]func() float64{
		"even":   r.Float64,
		"normal": func() float64 { return 3 + 100*r.NormFloat64() },
		"tiny":   func() float64 { return 1e-300 * r.Float64() },
		"huge":   func() float64 { return math.MaxFloat64 * (2*r.Float64() - 1) },
		"close":  func() float64 { return 1 + 1e-15*r.Float64() },
		"far":    func() float64 { return math.Pow(10, 600*r.Float64()-300) },
		"below0": func() float64 { return -1e9 - 1e9*r.Float64() },
		"tenths": func() float64 { return float64(r.IntN(100)) / 10 },
	}
	for name, draw := range cases {
		t.Run(name, func(t *testing.T) {
			scores := make([]float64, 1000)
			for i := range scores {
				scores[i] = draw()
			}
			s := spread(scores, nil)
			require.LessOrEqual(t, len(s.Bars), mostBars)
			total := 0
			for i, b := range s.Bars {
				last := i == len(s.Bars)-1
				require.Equal(t, count(scores, b, last), b.N, "bar %d of %v", i, s.Bars)
				if i > 0 && b.From != b.To {
					require.Equal(t, s.Bars[i-1].To, b.From)
				}
				total += b.N
			}
			require.Equal(t, len(scores), total)
			_, err := json.Marshal(s)
			require.NoError(t, err)
			slices.Reverse(scores)
			require.Equal(t, s, spread(scores, nil))
		})
	}
}

// count is how many scores a bar stands for, as its words say.
func count(scores []float64, b Bar, last bool) (n int) {
	for _, x := range scores {
		if x >= b.From && (x < b.To || x == b.To && (last || b.From == b.To)) {
			n++
		}
	}
	return n
}

// Promise: edges are numbers that people write.
func TestEdgesAreRound(t *testing.T) {
	got := edges(0.013, 0.987)
	require.Equal(t, []float64{0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3}, got[:7])
	require.Equal(t, 1.0, got[len(got)-1])
}
