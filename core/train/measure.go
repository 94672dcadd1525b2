package train

import (
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// Measurement sums up trajectories that are scored, with their credit or as the
// tests of a run keep them, one after the other, as an evaluation of a run does.
type Measurement struct {
	Align     align.Config // of the run
	Threshold float64      // Config.SuccessScore

	all []episode
}

// Add takes a trajectory; nothing of it is kept.
func (m *Measurement) Add(t *rl.Trajectory) {
	e := episode{start: startOf(t), length: len(t.Steps), metrics: t.Metrics}
	if t.Outcome == string(reward.Scored) && t.Evaluation != nil {
		e.scored = true
		var score float64
		score, e.sum = m.Align.Totals(t)
		e.success = t.StopReason == rl.StopTerminated && score > m.Threshold
	}
	m.all = append(m.all, e)
}

// Score returns what was measured so far, and each episode.
func (m *Measurement) Score() (run.Score, []run.Played) {
	played := make([]run.Played, len(m.all))
	for i, e := range m.all {
		played[i] = run.Played{Start: e.start, Scored: e.scored, Success: e.success, Return: e.sum, Length: e.length, Metrics: e.metrics}
	}
	return score(m.all), played
}
