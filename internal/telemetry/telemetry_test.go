package telemetry_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/telemetry"
)

// Promise: every number of an iteration has the path that it has in
// metrics.jsonl, in a fixed order; what the line omits is omitted.
func TestScalars(t *testing.T) {
	it := run.Iteration{
		Iteration: 3, EnvSteps: 40, Best: true, Outcomes: map[string]int{"timeout": 1, "scored": 7},
		Update: &run.Update{KL: 0.5},
		Validation: &run.Score{Success: 0.25, SuccessInterval: run.Interval{0.1, 0.4},
			Metrics: []run.Metric{{Name: "depth", Mean: 2, Interval: run.Interval{1, 3}, Episodes: 8}}},
	}
	values, keys := map[string]float64{}, map[string]string{}
	var names []string
	for _, s := range telemetry.Iteration(it) {
		values[s.Name()] = s.Value
		names = append(names, s.Name())
		if s.Key >= 0 {
			keys[s.Name()] = s.Path[s.Key]
		}
	}
	require.Equal(t, []string{"iteration", "env_steps", "episodes", "outcomes/scored", "outcomes/timeout", "update/loss"}, names[:6])
	require.Len(t, values, len(names), "no name twice")
	for name, want := range map[string]float64{
		"iteration": 3, "env_steps": 40, "best": 1, "outcomes/timeout": 1, "update/kl": 0.5, "validation/success": 0.25,
		"validation/success_interval/low": 0.1, "validation/metrics/depth/mean": 2, "validation/metrics/depth/interval/high": 3,
	} {
		require.Contains(t, values, name)
		require.Equal(t, want, values[name], name)
	}
	require.Equal(t, "timeout", keys["outcomes/timeout"])
	require.Equal(t, "depth", keys["validation/metrics/depth/interval/high"])
	require.NotContains(t, values, "rollout/success")
	require.NotContains(t, values, "update/drift")

	line, err := json.Marshal(it)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(line, &fields))
	require.Equal(t, fields["update"].(map[string]any)["entropy"], values["update/entropy"])
}

// Promise: every reporter hears everything, in order, and only those that want
// it where a run begins.
func TestFan(t *testing.T) {
	var heard []string
	r := telemetry.Fan{&ear{"a", &heard}, train.Quiet{}, &ear{"b", &heard}}
	r.Began(nil, 1)
	r.Collecting("train", 1, 2)
	r.Iterated(run.Iteration{}, 1)
	r.Evaluated("test", run.Score{})
	require.Equal(t, []string{"a began", "b began", "a collects", "b collects", "a iterated", "b iterated", "a evaluated", "b evaluated"}, heard)
}

type ear struct {
	name  string
	heard *[]string
}

func (e *ear) say(what string)             { *e.heard = append(*e.heard, e.name+" "+what) }
func (e *ear) Began([]run.Iteration, int)  { e.say("began") }
func (e *ear) Collecting(string, int, int) { e.say("collects") }
func (e *ear) Iterated(run.Iteration, int) { e.say("iterated") }
func (e *ear) Evaluated(string, run.Score) { e.say("evaluated") }
