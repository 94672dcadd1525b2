package advantage_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
)

// Promise: the defaults are valid for every estimator.
func TestDefaultIsValid(t *testing.T) {
	for _, name := range advantage.Names() {
		require.Empty(t, named(name).Validate(), name)
	}
}

// Promise: every problem at once, each with its key and what is allowed.
func TestValidateNamesEverything(t *testing.T) {
	cfg := advantage.Config{
		Estimator: "gippo", Gamma: 1.5, Lambda: math.NaN(), Omega: -1, Normalization: "std", BaselineOver: "rows",
		Singleton: "one", Combine: "mean", Similarity: 1, InvalidActionPenalty: -0.1, History: 65, HistoryExponent: math.Inf(1),
	}
	problems := cfg.Validate()
	require.Len(t, problems, 16)
	all := withHints(problems)
	for _, want := range []string{
		`estimator: "gippo" is not allowed; use one of gigpo, grpo, rloo, reinforce_pp, gae, flow_grpo, lightning, hgpo`,
		"gamma: 1.5 is not allowed; use a number from 0 to 1", "lambda: NaN", "omega: -1",
		`normalization: "std" is not allowed; use one of mean_norm, mean_std_norm`,
		"baseline_over:", "singleton:", "combine:", "similarity: 1", "epsilon: 0", "invalid_action_penalty: -0.1", "history: 65", "history_exponent:",
	} {
		require.Contains(t, all, want)
	}
	cfg = advantage.Default()
	cfg.Combine, cfg.Omega = advantage.CombineConvex, 2
	require.Contains(t, withHints(cfg.Validate()), "omega: 2 is not allowed; use a number from 0 to 1 with combine: convex")
}

func withHints(problems []error) string {
	var b strings.Builder
	for _, err := range problems {
		b.WriteString(err.Error() + "; " + fault.As(err).Hint + "\n")
	}
	return b.String()
}

// Promise: what Estimate cannot use it refuses, with a way out.
func TestEstimateRefuses(t *testing.T) {
	fails := func(cfg advantage.Config, change func(*advantage.Rows), want string) {
		t.Helper()
		rows := two()
		change(rows)
		require.ErrorContains(t, advantage.Estimate(cfg, rows, new(advantage.Result)), want)
	}
	fails(named("nope"), func(*advantage.Rows) {}, `estimator: "nope" is not allowed`)
	fails(named("gae"), func(*advantage.Rows) {}, "train with a value head")
	fails(named("hgpo"), func(r *advantage.Rows) { r.Anchor = nil }, "needs an anchor")
	fails(named("gdpo"), func(*advantage.Rows) {}, "needs the score of each reward: give rewards in every row")
	fails(named("gdpo"), func(r *advantage.Rows) { copy(r.AddReward("form", 1), []float64{1, 1}) }, `row 2: reward "form" is given for some members of the group only`)
	fails(named("gdpo"), func(r *advantage.Rows) { r.AddReward("form", 1) }, "row 0: no reward is given")
	fails(named("gdpo"), func(r *advantage.Rows) { copy(r.AddReward("form", 1), []float64{1, 2, 3, 3}) }, `row 1: the score of reward "form" is 2, but 1 in another row of the trajectory`)
	fails(named("gdpo"), func(r *advantage.Rows) { copy(r.AddReward("form", 1), []float64{1, 1, math.Inf(1), math.Inf(1)}) }, `row 2: the score of reward "form" is +Inf`)
	fails(named("rae"), func(*advantage.Rows) {}, "row 0: there is no role, and rae compares the members of a group role by role")
	fails(named("rae"), func(r *advantage.Rows) { r.Role = []string{"a", "b", "a", ""} }, "row 3: there is no role")
	fails(named("remax"), func(*advantage.Rows) {}, "needs the score of a greedy episode from each start: give greedy_score in every row")
	fails(named("remax"), func(r *advantage.Rows) { r.Greedy = []float64{1, 1, 2, 2} }, "row 2: the greedy score is 2, but 1 in another row of the group")
	fails(named("remax"), func(r *advantage.Rows) { r.Greedy = []float64{math.Inf(1), 1, 1, 1} }, "row 0: the greedy score is +Inf")
	fails(named("remax"), func(r *advantage.Rows) { r.Greedy = []float64{1, 1, math.NaN(), math.NaN()} }, "row 2: a greedy score is given for some rows of the group only")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Reward[2] = math.NaN() }, "row 2: reward is NaN")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Score[2], r.Score[3] = math.Inf(1), math.Inf(1) }, "row 2: episode score is +Inf")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Score[1] = 2 }, "row 1: trajectory 0 has episode scores 1 and 2")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Step[1] = 0 }, "row 1: trajectory 0 has step 0 twice")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Step[1] = 5 }, "row 1: trajectory 0 has step 5 twice, or a step before it is missing")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Group[1] = 1 }, "row 1: trajectory 0 is in groups 0 and 1")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Group[1] = -1 }, "row 1: group -1")
	fails(named("gigpo"), func(r *advantage.Rows) { r.Scored = []bool{true, false, true, true} }, "row 1: trajectory 0 has a score in some of its rows only")
	fails(named("gigpo"), func(r *advantage.Rows) {
		r.Score = []float64{-1e308, -1e308, 1.7e308, 1.7e308}
	}, "too large to compare")
}

// Promise: an empty batch has an empty result.
func TestEmptyBatch(t *testing.T) {
	for _, name := range advantage.Names() {
		rows := &advantage.Rows{Anchor: []string{}, Value: []float64{}}
		require.Empty(t, estimate(t, named(name), rows).Advantage)
	}
}

// Promise: columns of different length are a bug in the caller and panic.
func TestLengthMismatchPanics(t *testing.T) {
	three, four := make([]float64, 3), make([]float64, 4)
	ends, ids := make([]bool, 3), make([]int32, 3)
	require.Panics(t, func() { advantage.StepReturns(three, four, nil, ends, 1) })
	require.Panics(t, func() { advantage.StepReturns(three, three, four, ends, 1) })
	require.Panics(t, func() { advantage.GeneralizedAdvantages(three, three, four, nil, ends, 1, 1) })
	require.Panics(t, func() { advantage.EpisodeAdvantages(four, four, ids, nil, advantage.Norm{}) })
	require.Panics(t, func() { advantage.StepAdvantages(three, four, ids, advantage.Norm{}) })
	require.Panics(t, func() { advantage.Combine(three, three, four, advantage.CombineSum, 1) })
	require.Panics(t, func() { advantage.Whiten(three, four, ids, 1e-6) })
	require.Panics(t, func() { advantage.LeaveOneOut(three, four, ids, nil, advantage.SingletonZero) })
	require.Panics(t, func() { advantage.AnchorGroups(ids, ids, []string{"x"}, 0) })
	require.Panics(t, func() { advantage.PenaliseInvalid(three, four, nil, 0.1) })
	require.Panics(t, func() { advantage.GroupsWithVariance(ends, four, ids) })
	require.Panics(t, func() {
		_ = advantage.Estimate(advantage.Default(), &advantage.Rows{Group: ids}, new(advantage.Result))
	})
}

// Promise: the words that the configuration takes are the estimators that there are.
func TestWordsAreTheRegistry(t *testing.T) {
	field, _ := reflect.TypeFor[advantage.Config]().FieldByName("Estimator")
	require.Equal(t, advantage.Names(), fault.Words(field.Tag))
}
