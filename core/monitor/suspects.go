package monitor

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/merit-rl/merit/core/rl"
)

// Suspects returns those n of the scored trajectories of an iteration that look
// most as if the reward was exploited, the most suspicious one first: a high score
// together with low values of the metrics in Config.Watch that single episodes
// have (the environment's reward and metrics) and much repetition. Each is
// measured in standard deviations.
func (c Config) Suspects(trajectories []*rl.Trajectory, n int) []*rl.Trajectory {
	var all []*rl.Trajectory
	for _, t := range trajectories {
		if t.Outcome == scored && t.Evaluation != nil {
			all = append(all, t)
		}
	}
	var r reader
	scores, repeated, env := make([]float64, len(all)), make([]float64, len(all)), make([]float64, len(all))
	for i, t := range all {
		e := r.read(t)
		scores[i], repeated[i], env[i] = t.Evaluation.Score, e.repeated(len(t.Steps)), e.env
	}
	suspicion := make([]float64, len(all))
	add(suspicion, scores, 1)
	add(suspicion, repeated, 0.5)
	for _, name := range c.Watch {
		name, sign := direction(name)
		if name == "env_reward" {
			add(suspicion, env, -sign)
			continue
		}
		x := make([]float64, len(all))
		for i, t := range all {
			x[i] = t.Measured()[name]
		}
		add(suspicion, x, -sign)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(suspicion[b], suspicion[a]) })
	var out []*rl.Trajectory
	for _, i := range order[:min(n, len(order))] {
		out = append(out, all[i])
	}
	return out
}

// add adds x to sum, in standard deviations from its mean.
func add(sum, x []float64, weight float64) {
	middle, spread := stat.PopMeanStdDev(x, nil)
	if !(spread > 0) {
		return
	}
	for i := range x {
		sum[i] += weight * (x[i] - middle) / spread
	}
}
