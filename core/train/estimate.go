package train

import (
	"context"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/stats"
)

// estimates reports whether evaluations are estimates from held-out episodes,
// because there is nothing to play in.
func (l *loop) estimates() bool { return l.deps.Source != nil && l.deps.OpenEnv == nil }

// estimate is an evaluation of a policy on episodes that another one played,
// each with the weight that makes it one of its own; nil weights are those of
// whoever played.
type estimate struct {
	evaluation
	weights []float64
	tasks   stats.Clusters
	counted []episode // the scored ones, in the order of weights
}

// held measures the held-out episodes of a split: by whom they were played, or,
// if weigh is set, as the policy would have. It returns nil if the policy cannot
// be measured so.
func (l *loop) held(ctx context.Context, what, split string, most int, weigh bool) (*estimate, error) {
	groups, err := l.deps.Source.HeldOut(ctx, split, most)
	if err != nil {
		return nil, err
	}
	batch, err := l.scoring.Run(ctx, groups)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(batch.Trajectories))
	for i := range weights {
		weights[i] = 1
	}
	if weigh {
		if weights, err = l.deps.Source.Weigh(ctx, l.learner, batch.Trajectories); err != nil || weights == nil {
			return nil, err
		}
	}
	e := &estimate{evaluation: evaluation{starts: startsOf(groups), episodes: episodes(batch, l.s.Train), trajectories: batch.Trajectories}}
	var tasks []string
	for i, x := range e.episodes {
		if x.scored {
			e.counted, e.weights = append(e.counted, x), append(e.weights, weights[i])
			tasks = append(tasks, batch.Trajectories[i].Group)
		}
	}
	e.tasks = stats.ClusterBy(tasks)
	e.measure()
	l.deps.Progress.Evaluated(what, e.score)
	return e, nil
}

// measure fills the score.
func (e *estimate) measure() {
	success, sums, lengths := e.columns()
	s := &e.score
	s.Episodes, s.Unscored, s.DistinctStarts = len(sums), len(e.episodes)-len(sums), len(e.starts)
	s.Success, s.SuccessInterval[0], s.SuccessInterval[1] = e.tasks.WeightedShare(success, e.weights)
	s.Return, s.ReturnInterval[0], s.ReturnInterval[1] = e.tasks.Weighted(sums, e.weights)
	s.Length, s.LengthInterval[0], s.LengthInterval[1] = e.tasks.Weighted(lengths, e.weights)
	n := stats.Effective(e.weights)
	s.Metrics = []run.Metric{{Name: estimateMetric, Mean: n, Interval: run.Interval{n, n}, Episodes: len(sums)}}
}

func (e *estimate) columns() (success []bool, sums, lengths []float64) {
	for _, x := range e.counted {
		success, sums, lengths = append(success, x.success), append(sums, x.sum), append(lengths, float64(x.length))
	}
	return success, sums, lengths
}

// estimateAll validates by estimate. Where the policy cannot be measured, the
// newest is taken for the best.
func (l *loop) estimateAll(ctx context.Context, it *iteration) error {
	e, err := l.held(ctx, SplitValidation, SplitValidation, l.s.Train.ValidationEpisodes, true)
	if err != nil {
		return err
	}
	if e == nil {
		it.line.Best = true
		it.cursor.Best = run.Standing{Iteration: it.cursor.Iteration}
		return nil
	}
	if it.line.Iteration == 0 {
		it.starts = run.EpisodeStarts{Split: SplitValidation, Starts: e.starts}
	}
	score := e.score
	it.line.Validation = &score
	it.line.Best = it.best(l.s.Train, score)
	return nil
}

// finishEstimates fills the summary's table: what was collected against what the
// trained policy, which the learner holds, would make of it.
func (l *loop) finishEstimates(ctx context.Context, s *run.Summary) error {
	most := l.s.Train.TestEpisodes
	before, err := l.held(ctx, "test baseline", SplitTest, most, false)
	if err != nil {
		return err
	}
	after, err := l.held(ctx, "test trained", SplitTest, most, true)
	if err != nil {
		return err
	}
	s.Baseline.Score, s.PValue, s.Test = before.score, 1, "none: the policy cannot say how likely it decides as somebody else did"
	if after != nil {
		s.Trained.Score = after.score
		x := make([]float64, len(after.counted))
		for i, e := range after.counted {
			if e.success {
				x[i] = 1
			}
		}
		_, _, _, s.PValue = after.tasks.WeightedDifference(x, before.weights, after.weights)
		s.Test = "estimated from the same traces by importance sampling, clustered by task, two-sided"
	}
	if s.Starts, err = overlap(l.dir.Path(), before.episodes, l.cursor.MetricLines); err != nil {
		return err
	}
	return l.dir.WriteEpisodes(fileName("test baseline"), before.trajectories)
}
