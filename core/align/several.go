package align

import (
	"github.com/merit-rl/merit/core/rl"
)

// Names of the rewards that no reward function names: the score of a single one, and the
// environment's own.
const (
	theScore       = "score"
	theEnvironment = "environment"
)

// separate fills Rows.Rewards from the metrics that have a weight and from the environment's
// reward, if there are several rewards.
func (b *Batch) separate(cfg Config) {
	columns := map[string][]float64{}
	fill := func(i int, name string, weight, score float64) {
		if columns[name] == nil {
			columns[name] = b.Rows.AddReward(name, weight)
		}
		for row := b.First[i]; row < b.First[i+1]; row++ {
			columns[name][row] = score
		}
	}
	for i, t := range b.Trajectories {
		if b.First[i] == b.First[i+1] || !b.Rows.Scored[b.First[i]] {
			continue
		}
		several := false
		for _, m := range b.Evaluations[i].Result.Metrics {
			if m.Weight != nil {
				several = true
				fill(i, m.Name, *m.Weight, m.Score)
			}
		}
		if cfg.EnvRewardWeight == 0 {
			continue
		}
		if !several {
			fill(i, theScore, 1, b.Evaluations[i].Result.Score)
		}
		sum := 0.0
		for k := range t.Steps {
			sum += t.Steps[k].EnvReward
		}
		fill(i, theEnvironment, cfg.EnvRewardWeight, sum)
	}
}

// unjudged returns the first reward among metrics that has no score, or "".
func unjudged(metrics rl.Metrics) string {
	for _, m := range metrics {
		if m.Weight != nil && !m.IsScoreValid {
			return m.Name
		}
	}
	return ""
}
