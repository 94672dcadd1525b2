package rl

import "math"

// maxMeasured bounds the metric names that a reward may add to an evaluation of
// many episodes; further metrics stay in Evaluation.
const maxMeasured = 64

// Measured returns the metrics of the episode by name: those of the environment,
// and the valid metrics of the reward, the first 64 of them. If a name is taken,
// the reward's metric gets the prefix reward_. It may be t.Metrics itself and must
// not be written to.
func (t *Trajectory) Measured() map[string]float64 {
	if t.Evaluation == nil || len(t.Evaluation.Metrics) == 0 {
		return t.Metrics
	}
	all := make(map[string]float64, len(t.Metrics)+len(t.Evaluation.Metrics))
	for name, value := range t.Metrics {
		all[name] = value
	}
	for _, m := range t.Evaluation.Metrics {
		if len(all) == len(t.Metrics)+maxMeasured {
			break
		}
		if !m.IsScoreValid || math.IsNaN(m.Score) || math.IsInf(m.Score, 0) {
			continue
		}
		name := m.Name
		for _, taken := all[name]; taken; _, taken = all[name] {
			name = "reward_" + name
		}
		all[name] = m.Score
	}
	return all
}
