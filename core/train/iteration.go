package train

import (
	"maps"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cputime"
)

// iteration is the result of one pass of the loop. The state of the run changes
// only when it is recorded.
type iteration struct {
	line   run.Iteration     // of the metrics
	cursor run.Cursor        // the state of the run after it
	starts run.EpisodeStarts // where its episodes began
	stale  staleness         // which of them were too old to learn from
	kept   []*rl.Trajectory  // the episodes that trajectories/ keeps
	batch  *credit.Batch     // nil if the iteration learned nothing

	// Times are written only to "time" fields.
	begin, last time.Time
	cpu         float64 // CPU seconds of the program at last
}

// newIteration begins iteration n of a run whose cursor is from.
func newIteration(n int, from run.Cursor) *iteration {
	from.Outcomes = maps.Clone(from.Outcomes)
	from.Iteration = n
	now := time.Now()
	return &iteration{line: run.Iteration{Iteration: n}, cursor: from, begin: now, last: now, cpu: cputime.Seconds()}
}

// lap adds the seconds since the last lap to stage, and the CPU seconds to cpu.
func (it *iteration) lap(stage, cpu *float64) {
	now, used := time.Now(), cputime.Seconds()
	*stage += now.Sub(it.last).Seconds()
	*cpu += used - it.cpu
	it.last, it.cpu = now, used
}

// played counts the episodes that were played or taken from recordings for the
// iteration.
func (it *iteration) played(p *Played) {
	it.cursor.EnvSteps += uint64(p.Steps)
	it.cursor.Episodes += uint64(p.Episodes)
	it.starts.Split = SplitTrain
	it.starts.Starts = append(it.starts.Starts, startsOf(p.Groups)...)
	it.line.Time.Score += p.Scoring.Seconds()
	it.line.Time.CPU.Score += p.ScoringCPU
}

// learned fills the line from the batch of an iteration and the learner's
// statistics. played is the number of collected episodes, including those that
// dropped as stale or resampled away.
func (it *iteration) learned(b *credit.Batch, played int, c Config, u *policy.Stats) {
	it.batch = b
	it.line.Rollout = rolloutMetrics(b, played, c)
	it.stale.describe(it.line.Rollout)
	it.line.Outcomes = map[string]int{}
	for _, n := range b.Counts() {
		it.line.Outcomes[string(n.Outcome)] = n.N
		it.cursor.Outcomes[string(n.Outcome)] += n.N
	}
	starters := fromStart(b.Trajectories, b.Trajectories)
	it.line.Advantage, it.line.Outputs = advantageMetrics(b), monitor.Measure(starters)
	byEnvironment(it.line.Outputs, fromStart(episodes(b, c), b.Trajectories), starters)
	it.line.Update = &run.Update{
		Loss: u.Loss, KL: u.KL, Entropy: u.Entropy, ClipFraction: u.ClipFraction, GradNorm: u.GradNorm,
		ValueLoss: u.ValueLoss, LearningRate: u.LearningRate, Minibatches: u.Minibatches,
		PolicyLoss: u.PolicyLoss, ReferenceKL: u.ReferenceKL, KLCoefficient: u.KLCoefficient, EntropyWeight: u.EntropyWeight,
		DualClipFraction: u.DualClipFraction, ExplainedVariance: u.ExplainedVariance, AdvantageRMS: u.AdvantageRMS,
		Sequences: u.Sequences, Tokens: u.Tokens, Ratio: u.Ratio, Drift: u.Drift, DriftMax: u.DriftMax,
	}
}

func rolloutMetrics(b *credit.Batch, played int, c Config) *run.Rollout {
	s := score(fromStart(episodes(b, c), b.Trajectories))
	r := &run.Rollout{Success: s.Success, Return: s.Return, Length: s.Length, Episodes: s.Episodes, Stops: map[string]int{}}
	invalid := 0
	for i, t := range b.Trajectories {
		if t.BranchOf == "" {
			r.Stops[string(t.StopReason)]++
		} else if t.Outcome == string(reward.Scored) {
			r.Branches++
		}
		for row := min(b.First[i]+t.BranchAt, b.First[i+1]); row < b.First[i+1]; row++ {
			r.Steps++
			if !b.Steps[row].ActionValid {
				invalid++
			}
		}
	}
	r.Discarded = played - s.Episodes - r.Branches
	if r.Steps > 0 {
		r.Invalid = float64(invalid) / float64(r.Steps)
	}
	return r
}

func advantageMetrics(b *credit.Batch) *run.Advantage {
	var scored []float64
	for i, a := range b.Credit.Advantage {
		shared := b.Rows.BranchAt != nil && b.Rows.Step[i] < b.Rows.BranchAt[i]
		if b.Rows.Scored[i] && !shared {
			scored = append(scored, a)
		}
	}
	st := b.Credit.Stats
	m := &run.Advantage{
		AnchorGroups: st.AnchorGroups, AnchorSize: st.MeanAnchorGroup, SingletonShare: st.SingletonShare,
		StepShare: st.StepAdvantageShare, ZeroVarianceRate: st.ZeroVarianceShare,
	}
	if w := b.Credit.Moments; w.N > 0 {
		m.Moments = &run.Moments{N: w.N, Mean: w.Mean, Deviation: w.Deviation}
	}
	m.KeptEdges, m.KeptStarts, m.RevisitRate = b.Kept.Edges, b.Kept.Starts, ratio(b.Kept.Revisited, st.Groups)
	shortened := 0
	for _, n := range b.Rows.KeptSteps {
		shortened += int(min(n, 1))
	}
	m.KeptStepShare = ratio(shortened, len(scored))
	if len(scored) > 1 {
		m.Mean, m.Std = stat.MeanStdDev(scored, nil)
	}
	return m
}

func ratio(part, whole int) float64 { return float64(part) / float64(max(whole, 1)) }
