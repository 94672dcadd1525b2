package train

import (
	"cmp"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// selectEpisodes returns the episodes of an iteration that c keeps, in order.
// Before is the number of episodes of earlier iterations.
func selectEpisodes(c run.SaveConfig, before uint64, all []*rl.Trajectory) []*rl.Trajectory {
	keep := make([]bool, len(all))
	var scored []int
	for i, t := range all {
		failed := t.Outcome != string(reward.Scored)
		keep[i] = c.Every > 0 && (before+uint64(i))%uint64(c.Every) == 0 || c.Failed && failed
		if !failed && t.Evaluation != nil {
			scored = append(scored, i)
		}
	}
	slices.SortStableFunc(scored, func(a, b int) int {
		return cmp.Compare(all[b].Evaluation.Score, all[a].Evaluation.Score)
	})
	for _, i := range scored[:min(c.Best, len(scored))] {
		keep[i] = true
	}
	for _, i := range scored[max(0, len(scored)-c.Worst):] {
		keep[i] = true
	}
	var out []*rl.Trajectory
	for i, t := range all {
		if keep[i] {
			out = append(out, t)
		}
	}
	return out
}
