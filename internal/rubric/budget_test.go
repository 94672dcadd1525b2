package rubric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/rubric"
)

// shown returns the result of a criterion: a letter for each verdict, and one for the empty
// output.
func shown(e *rubric.Evaluation) (all []string) {
	letter := func(v rubric.Verdict) string {
		switch {
		case v.Outcome == reward.Scored:
			return "s"
		case v.Outcome == reward.OutOfFuel && v.Fuel == 0:
			return "-" // not started
		}
		return "f"
	}
	for _, c := range e.Criteria {
		text := ""
		for _, v := range c.Verdicts {
			text += letter(v)
		}
		if c.Empty != nil {
			text += " " + letter(*c.Empty)
		}
		all = append(all, text)
	}
	return all
}

// Promise: a rubric whose rules have used up its fuel gets no further verdict: the rest are
// out of fuel, which is charged like any failed rule. Where this happens does not depend on
// the cache or on concurrency.
func TestTotalFuel(t *testing.T) {
	w := outputs("x y", "y", "z") // a verdict costs 5, one of a rule that loops 7
	for _, c := range []struct {
		fuel  uint64
		codes []string
		want  []string
		calls int
	}{
		{0, []string{"loops", "x", "always"}, []string{"fff", "sss", "sss s"}, 10},
		{1000, []string{"loops", "x", "always"}, []string{"fff", "sss", "sss s"}, 10},
		{36, []string{"loops", "x", "always"}, []string{"fff", "sss", "---"}, 6},
		{37, []string{"loops", "x", "always"}, []string{"fff", "sss", "s--"}, 7},
		{51, []string{"loops", "x", "always"}, []string{"fff", "sss", "sss -"}, 9},
		{15, []string{"loops", "loops too", "x"}, []string{"fff", "---", "---"}, 3},
		{1, []string{"loops", "x", "always"}, []string{"f--", "---", "---"}, 1},
	} {
		one := &words{}
		e := rubric.NewEngine(one, rubric.EngineOptions{Fuel: c.fuel})
		want := evaluate(t, e, rules(c.codes...), w)
		require.Equal(t, c.want, shown(want), c)
		require.Equal(t, c.calls, one.count(), "what is not begun costs nothing: %v", c)
		require.Equal(t, want, evaluate(t, e, rules(c.codes...), w), "kept verdicts cost what they cost: %v", c)
		for range 20 {
			many := rubric.NewEngine(&words{}, rubric.EngineOptions{Fuel: c.fuel, Parallel: 3})
			require.Equal(t, want, evaluate(t, many, rules(c.codes...), w), c)
		}
		for o, total := range want.Totals {
			for _, result := range want.Criteria {
				if result.Verdicts[o].Score == nil {
					require.Nil(t, total)
				}
			}
		}
	}
	e := rubric.NewEngine(&words{}, rubric.EngineOptions{Fuel: 20})
	failed := evaluate(t, e, rules("loops", "x"), w).Failures()
	require.Equal(t, `criterion "x" on output 1: out_of_fuel: not tried: the rubric has used up the fuel of all its rules, 20 (rubric.total_fuel)`, failed[3].String())
	require.NotEqual(t, rubric.NewEngine(&words{}, rubric.EngineOptions{}).Digest(), e.Digest(), "it decides verdicts")
}

// Promise: if a stakeholder's rules need more than the total fuel, the episode has no score
// and says so: the author of the written rubric is not at fault.
func TestTotalFuelOfATruth(t *testing.T) {
	m := &module{}
	s := rubric.NewScorer(rubric.NewEngine(&words{}, rubric.EngineOptions{Fuel: 7}), m, rubric.ScorerOptions{})
	got := s.Evaluate(t.Context(), episode(t, map[string]any{"rubric": rules("x", "y")}, map[string]any{rubric.InfoWritten: written("x"), rubric.InfoWorkflow: outputs("x", "y")}))
	require.Equal(t, reward.Infrastructure, got.Outcome)
	require.Contains(t, got.Reason, "the stakeholder's rubric cannot be applied")
	require.Contains(t, got.Reason, "rubric.total_fuel")
}
