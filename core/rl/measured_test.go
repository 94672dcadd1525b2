package rl_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
)

// Promise: an episode is measured by its environment and by its reward, under
// names that never hide each other; what is not valid is not there, and is not 0.
func TestMeasured(t *testing.T) {
	valid := func(name string, score float64) rl.Metric {
		return rl.Metric{Name: name, Score: score, IsScoreValid: true}
	}
	cases := map[string]struct {
		env    map[string]float64
		reward rl.Metrics
		want   map[string]float64
	}{
		"nothing":        {nil, nil, nil},
		"environment":    {map[string]float64{"gap": 1}, nil, map[string]float64{"gap": 1}},
		"reward":         {nil, rl.Metrics{valid("spearman", 0.5)}, map[string]float64{"spearman": 0.5}},
		"a clash":        {map[string]float64{"gap": 1}, rl.Metrics{valid("gap", 2)}, map[string]float64{"gap": 1, "reward_gap": 2}},
		"a second clash": {map[string]float64{"gap": 1, "reward_gap": 3}, rl.Metrics{valid("gap", 2)}, map[string]float64{"gap": 1, "reward_gap": 3, "reward_reward_gap": 2}},
		"not valid":      {nil, rl.Metrics{{Name: "gap", Score: 2}, valid("depth", 1)}, map[string]float64{"depth": 1}},
		"not finite":     {nil, rl.Metrics{valid("gap", math.NaN()), valid("depth", math.Inf(1))}, map[string]float64{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x := rl.Trajectory{Metrics: c.env}
			if c.reward != nil {
				x.Evaluation = &rl.EvaluateResult{Metrics: c.reward}
			}
			require.Equal(t, c.want, x.Measured())
		})
	}
	many := rl.Trajectory{Metrics: map[string]float64{"gap": 1}, Evaluation: &rl.EvaluateResult{}}
	for i := range 1000 {
		many.Evaluation.Metrics = append(many.Evaluation.Metrics, valid(fmt.Sprint(i), 1))
	}
	require.Len(t, many.Measured(), 65)
	require.Len(t, many.Metrics, 1, "the environment's are left alone")
}
