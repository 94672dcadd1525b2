package train

import (
	"gonum.org/v1/gonum/stat"

	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/run"
)

// count fills an iteration's metrics from its batch and the learner's stats,
// and adds to the run's totals.
func (l *loop) count(it *run.Iteration, u *learn.Stats) {
	all := episodes(&l.batch, l.s.Train.SuccessScore)
	it.Rollout = l.rolloutMetrics(all)
	it.Outcomes = map[string]int{}
	for _, c := range l.batch.Counts() {
		it.Outcomes[string(c.Outcome)] = c.N
		l.cursor.Outcomes[string(c.Outcome)] += c.N
	}
	l.episodesBefore = l.cursor.Episodes
	l.cursor.Episodes += uint64(l.collected)
	l.collected = 0
	it.Advantage = l.advantageMetrics()
	it.Update = &run.Update{
		Loss: u.Loss, KL: u.KL, Entropy: u.Entropy, ClipFraction: u.ClipFraction, GradNorm: u.GradNorm,
		ValueLoss: u.ValueLoss, LearningRate: u.LearningRate, Minibatches: u.Minibatches,
	}
}

func (l *loop) rolloutMetrics(all []episode) *run.Rollout {
	s := score(all, 0)
	r := &run.Rollout{
		Success: s.Success, Return: s.Return, Length: s.Length, Episodes: s.Episodes,
		Steps: len(l.batch.Steps), Stops: map[string]int{}, Discarded: l.collected - s.Episodes,
	}
	for _, t := range l.batch.Trajectories {
		r.Stops[string(t.StopReason)]++
	}
	invalid := 0
	for _, step := range l.batch.Steps {
		if !step.ActionValid {
			invalid++
		}
	}
	if r.Steps > 0 {
		r.Invalid = float64(invalid) / float64(r.Steps)
	}
	return r
}

func (l *loop) advantageMetrics() *run.Advantage {
	var scored []float64
	for i, a := range l.credit.Advantage {
		if l.batch.Rows.Scored[i] {
			scored = append(scored, a)
		}
	}
	st := l.credit.Stats
	m := &run.Advantage{
		AnchorGroups: st.AnchorGroups, AnchorSize: st.MeanAnchorGroup, SingletonShare: st.SingletonShare,
		StepShare: st.StepAdvantageShare, ZeroVarianceRate: st.ZeroVarianceShare,
	}
	if len(scored) > 1 {
		m.Mean, m.Std = stat.MeanStdDev(scored, nil)
	}
	return m
}
