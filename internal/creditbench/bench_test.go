package creditbench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: in every world, what may follow an action has a probability of 1 in all, a success
// is possible from every start, and actions differ in their chance of one.
func TestWorlds(t *testing.T) {
	for _, w := range Worlds() {
		require.Less(t, w.States(), 400, w.Name)
		e := w.Solve(w.random(rand.New(rand.NewPCG(1, 1))))
		for s := range w.keys {
			require.Len(t, w.moves[s], w.Actions)
			for _, chances := range w.moves[s] {
				sum := 0.0
				for _, c := range chances {
					sum += c.p
				}
				require.InDelta(t, 1, sum, 1e-12, w.Name)
			}
		}
		for _, s := range w.starts {
			require.Positive(t, e.value[0][s], w.Name)
		}
		require.Less(t, w.Success(e), 1.0, w.Name)
	}
}

// Promise: exact values by hand. Of the three ways of the fork, with 0.9, 0.5 and 0.1, an even
// choice succeeds in half of the episodes, and only the choice has an advantage.
func TestExactByHand(t *testing.T) {
	w := fork().build()
	p := Policy{}
	for _, key := range w.views() {
		p[key] = softmax(make([]float64, w.Actions))
	}
	e := w.Solve(p)
	require.InDelta(t, 0.5, w.Success(e), 1e-12)
	for a, want := range []float64{0.4, 0, -0.4} {
		require.InDelta(t, want, e.Advantage(0, 0, a), 1e-12)
		require.InDelta(t, 0, e.Advantage(3, 5, a), 1e-12)
	}
}

// Promise: played episodes succeed as often as computed.
func TestExactAgainstPlay(t *testing.T) {
	for _, w := range Worlds() {
		r := rand.New(rand.NewPCG(3, 4))
		p := w.random(r)
		e := w.Solve(p)
		const n = 20_000
		played, wins := w.sample(p, e, n, 1, r), 0.0
		for i, s := range played.rows.Step {
			if s == 0 {
				wins += played.rows.Score[i]
			}
		}
		want := w.Success(e)
		require.InDelta(t, want, wins/n, 5*math.Sqrt(want*(1-want)/n), w.Name)
	}
}

// Promise: an estimator that is exact is measured as exact: one step of gae with an exact
// critic, where moves are certain and nothing is discounted.
func TestExactEstimator(t *testing.T) {
	cfg := advantage.Default()
	cfg.Estimator, cfg.Gamma, cfg.Lambda = "gae", 1, 0
	for _, w := range []*World{chain().build(), keyAndDoor().build(), push().build(), loops().build()} {
		q, err := w.measure(t.Context(), []Estimator{{Name: "gae", Config: cfg}}, 8, rand.New(rand.NewPCG(1, 2)))
		require.NoError(t, err)
		require.Equal(t, 1.0, q[0].Sign, w.Name)
		require.InDelta(t, 1, q[0].Rank, 1e-3, w.Name)
		require.InDelta(t, 0, q[0].Bias, 1e-6, w.Name)
		require.InDelta(t, 0, q[0].Noise, 1e-6, w.Name)
	}
}

// Promise: a common factor of the estimates does not matter, and estimates that fall where the
// exact advantages rise have neither a bias nor a noise.
func TestQuality(t *testing.T) {
	played := &episodes{visits: []visit{{0, 0, 0}, {0, 0, 1}, {0, 0, 0}, {0, 0, 1}}, exact: []float64{0.1, -0.1, 0.1, -0.1}}
	good, bad := new(tally), new(tally)
	good.add(played, []float64{3, -3, 3, -3})
	bad.add(played, []float64{-1, 1, -1, 1})
	require.InDelta(t, 0, good.quality().Bias, 1e-9)
	require.InDelta(t, 0, good.quality().Noise, 1e-9)
	require.Equal(t, 1.0, good.quality().Sign)
	require.Zero(t, bad.quality().Sign)
	require.True(t, math.IsNaN(bad.quality().Bias))
	require.Equal(t, Value{}, over([]float64{math.NaN()}))
}

// Promise: the numbers do not depend on how many CPUs work.
func TestSameAtAnyParallelism(t *testing.T) {
	p := Plan{Worlds: []string{"turns", "fork"}, Members: []int{4}, Seeds: 2}
	p.Estimators, _ = Default().Named([]string{"gigpo", "graphgpo", "reinforce_pp"})
	run := func() *Results {
		r, err := Run(t.Context(), p, func(int, int) {})
		require.NoError(t, err)
		r.Worlds = nil
		return r
	}
	want := run()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.Equal(t, want, run())
}

// Promise: docs/credit-bench.md shows every world and estimator, and the numbers that a run
// gives again.
func TestPage(t *testing.T) {
	testneeds.NotShort(t)
	page, err := os.ReadFile(filepath.Join(testneeds.Root(), "docs", "credit-bench.md"))
	require.NoError(t, err)
	for _, w := range Worlds() {
		require.Contains(t, string(page), capital(w.Title))
	}
	p := Default()
	for _, e := range p.Estimators {
		require.Contains(t, string(page), "| "+e.Name+" |", "write the page again: merit advantages measure --out docs/credit-bench.md --force")
	}
	for _, x := range p.LeftOut {
		require.Contains(t, string(page), fmt.Sprintf("- `%s` is left out: %s.", x.Name, x.Why))
	}
	p.Worlds, p.Members = []string{"turns"}, []int{4}
	p.Estimators, err = p.Named([]string{"gigpo", "graphgpo", "reinforce_pp"})
	require.NoError(t, err)
	r, err := Run(t.Context(), p, func(int, int) {})
	require.NoError(t, err)
	_, cells := r.Table("turns", 4)
	for _, line := range cells {
		require.Contains(t, string(page), "| "+strings.Join(line, " | ")+" |")
	}
}

// Promise: advantages by branches have less bias and less noise than GiGPO, in the same episodes
// or without branches; branches of one estimator change nothing for the others.
func TestBranching(t *testing.T) {
	of := func(estimators []Estimator) map[string]Quality {
		found, err := chain().build().measure(t.Context(), estimators, 8, rand.New(rand.NewPCG(1, 2)))
		require.NoError(t, err)
		all := map[string]Quality{}
		for i, q := range found {
			all[estimators[i].Name] = q
		}
		return all
	}
	estimators := Branching().Estimators
	all := of(estimators)
	for _, name := range []string{"gigpo", "gigpo, branches"} {
		require.Less(t, all["vine"].Bias, all[name].Bias)
		require.Less(t, all["counterfactual"].Bias, all[name].Bias)
		require.Less(t, all["counterfactual"].Noise, all[name].Noise)
	}
	require.Less(t, all["vine"].Noise, all["gigpo"].Noise)
	alone := of(slices.DeleteFunc(slices.Clone(estimators), func(e Estimator) bool { return e.Branches != nil }))
	require.Equal(t, all["gigpo"], alone["gigpo"])
}
