package htdag

import (
	"encoding/json"
	"flag"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/plugins/internal/htdag/internal/choice"
	"github.com/merit-rl/merit/plugins/internal/htdag/internal/plan"
	"github.com/merit-rl/merit/plugins/internal/planner"
	"github.com/merit-rl/merit/sdk/plugin"
)

// player decides for a slot whose turn is shown.
type player func(t testing.TB, s *slot, turn *plugin.Turn, seed rl.Seed) plugin.Action

// score is what a player came to, by metric, with half the width of its 95 %
// interval.
type score map[string][2]float64

// measure plays episodes of a split, one a seed.
func measure(t testing.TB, p player, split string, episodes int, options string) score {
	o := defaults()
	require.NoError(t, json.Unmarshal([]byte(options), &o))
	require.NoError(t, o.check(split))
	e, err := newEnvironment(plugin.Setup{Slots: 1, Split: split}, o)
	require.NoError(t, err)
	made, err := e.NewSlot()
	require.NoError(t, err)
	s := made.(*slot)
	sum, square := map[string]float64{}, map[string]float64{}
	for seed := range uint64(episodes) {
		for name, x := range play(t, e.Spec(), s, p, rl.Seed(99).Child(seed)) {
			sum[name] += x
			square[name] += x * x
		}
	}
	all, n := score{}, float64(episodes)
	for name := range sum {
		mean := sum[name] / n
		all[name] = [2]float64{mean, 1.96 * math.Sqrt(max(0, square[name]/n-mean*mean)/n)}
	}
	return all
}

// play plays one episode and returns its numbers.
func play(t testing.TB, spec plugin.Spec, s *slot, p player, seed rl.Seed) map[string]float64 {
	fresh := func() *plugin.Turn {
		turn := &plugin.Turn{Mask: make([]byte, len(spec.Actions)), Features: make([]float32, spec.Features())}
		for i := range turn.Mask {
			turn.Mask[i] = 1
		}
		return turn
	}
	turn := fresh()
	require.NoError(t, s.Reset(uint64(seed), turn))
	for step := 0; !turn.Terminated; step++ {
		if len(turn.Text) == 0 {
			turn.Text = turn.Anchor
		}
		a := p(t, s, turn, seed.Child(uint64(step)))
		turn = fresh()
		require.NoError(t, s.Step(a, turn))
	}
	r := s.result()
	require.Equal(t, r.Success, turn.Reward > 0.5, "train.success_score tells success from failure: %v", turn.Reward)
	right := plan.Right(s.root)
	return map[string]float64{
		"success": share(r.Success), "reward": turn.Reward, "depth": float64(r.Depth), "subtasks": float64(r.Subtasks),
		"parallelism": r.Parallelism(), "execution_time": float64(r.Time) / 100, "calls": float64(r.calls), "cost": r.cost(),
		"efficiency": r.efficiency(), "delivered": float64(r.Delivered) / float64(r.Size), "missing": share(r.Missing > 0),
		"early": share(r.Early > 0), "coarse": share(r.Coarse > 0), "needless": share(r.Needless > 0), "invalid": float64(r.invalid),
		"right_tasks": float64(len(right.Nodes) - 1), "answers": float64(s.steps),
	}
}

// ruled plays by the rules of the plug-in planner.
func ruled(t testing.TB, setup []string) player {
	l, err := planner.Definition().Open(plugin.PolicySetup{Actions: setup}, nil)
	require.NoError(t, err)
	return func(t testing.TB, _ *slot, turn *plugin.Turn, seed rl.Seed) plugin.Action {
		d := make([]policy.Decision, 1)
		require.NoError(t, l.Act(t.Context(), []policy.Observation{{Text: string(turn.Text), Mask: turn.Mask, Actions: setup, Seed: seed}}, d))
		require.NoError(t, d[0].Err)
		return plugin.Action{Index: d[0].Action.Choice, Text: d[0].Raw}
	}
}

// random plays any action that is available.
func random(t testing.TB, _ *slot, turn *plugin.Turn, seed rl.Seed) plugin.Action {
	var can []int
	for i, m := range turn.Mask {
		if m == 1 {
			can = append(can, i)
		}
	}
	return plugin.Action{Index: can[int(seed.Uniform()*float64(len(can)))]}
}

// oracle knows the hidden structure: it splits what is too large, asks about
// other tasks first where that is not the one with the floor, and is done.
func oracle(t testing.TB, s *slot, _ *plugin.Turn, _ rl.Seed) plugin.Action {
	truth, does := s.waiting[0].Truth, choice.Split
	switch {
	case !slices.ContainsFunc(s.waiting, func(n *plan.Node) bool { return !n.Truth.Atomic() }):
		does = choice.Execute
	case truth.Atomic():
		does = choice.Leave
	}
	for i, a := range choice.Actions() {
		if a.Does == does && (does != choice.Split || a.Work == truth.Work() && a.Shape == truth.Shape) {
			return plugin.Action{Index: i}
		}
	}
	t.Fatal("no action is the right one")
	return plugin.Action{}
}

func names() (all []string) {
	for _, a := range choice.Actions() {
		all = append(all, a.Name)
	}
	return all
}

// episodes is how many each player plays; the README's table has 2000.
var episodes = flag.Int("episodes", 400, "episodes of each player in TestScores")

// Promise: the figures of the README, at a size that a test can afford: rules
// have the baseline that leaves something to learn, chance is far below them,
// and who knows the structure hardly fails. Seeds are fixed, so they never move.
func TestScores(t *testing.T) {
	chance := measure(t, random, plugin.Validation, *episodes, `{}`)
	rule := measure(t, ruled(t, names()), plugin.Validation, *episodes, `{}`)
	best := measure(t, oracle, plugin.Validation, *episodes, `{}`)
	for _, name := range slices.Sorted(maps.Keys(best)) {
		t.Logf("| %s | %.3f ± %.3f | %.3f ± %.3f | %.3f ± %.3f |", name, chance[name][0], chance[name][1], rule[name][0], rule[name][1], best[name][0], best[name][1])
	}
	for name, within := range map[string][2]float64{
		"success": {0.70, 0.85}, "depth": {2, 4}, "subtasks": {5, 15}, "parallelism": {0.20, 0.40},
		"execution_time": {6, 12}, "calls": {8, 16},
	} {
		require.GreaterOrEqual(t, rule[name][0], within[0], name)
		require.LessOrEqual(t, rule[name][0], within[1], name)
	}
	require.Less(t, chance["success"][0], 0.05)
	require.Greater(t, best["success"][0], 0.98)
	require.Equal(t, best["success"][0], best["efficiency"][0], "what is right is as good as it gets")
	require.InDelta(t, best["success"][0], best["delivered"][0], 0.02)
	for _, s := range []score{chance, rule, best} {
		require.Zero(t, s["invalid"][0])
	}
}

// Promise: no failure has the score of a success, also with the terms of
// examples/htdag, in which a failure can have as much as 0.5.
func TestFailuresScoreLess(t *testing.T) {
	for _, p := range []player{random, ruled(t, names()), oracle} {
		measure(t, p, plugin.Train, 200, `{"reward": {"delivered": 0.3}}`)
	}
}

// Promise: the rules come to the same plans in both forms.
func TestFormsAgree(t *testing.T) {
	choice := measure(t, ruled(t, names()), plugin.Validation, 200, `{}`)
	said := measure(t, ruled(t, nil), plugin.Validation, 200, `{"form": "json"}`)
	for _, name := range []string{"success", "depth", "subtasks", "parallelism", "execution_time", "calls", "reward"} {
		require.Equal(t, choice[name], said[name], name)
	}
	require.Zero(t, said["invalid"][0])
}
