package train

import (
	"context"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
)

// step is one iteration: collect → score → align → advantage → update →
// validate → record.
func (l *loop) step(ctx context.Context) error {
	n := l.cursor.Iteration + 1
	it := run.Iteration{Iteration: n}
	watch := startWatch()

	groups, err := l.collect(ctx, n, 0)
	if err != nil {
		return err
	}
	watch.lap(&it.Time.Collect)

	evaluations, err := l.pool.Evaluate(ctx, groups, nil)
	if err != nil {
		return err
	}
	watch.lap(&it.Time.Score)
	if l.s.Train.Resample > 0 {
		if groups, evaluations, err = l.resample(ctx, n, groups, evaluations); err != nil {
			return err
		}
		watch.lap(&it.Time.Collect)
	}

	if err := l.batch.Fill(l.s.Align, groups, evaluations, l.pool.StepIndexing()); err != nil {
		return err
	}
	watch.lap(&it.Time.Align)

	if err := advantage.Estimate(l.s.Advantage, &l.batch.Rows, &l.credit); err != nil {
		return numeric(n, "the advantages cannot be computed", err)
	}
	l.batch.Write(&l.credit)
	l.logSteps(ctx)
	if l.s.Train.SkipZero {
		skipZero(l.credit.Weight, l.credit.Advantage)
	}
	watch.lap(&it.Time.Advantage)

	samples, err := learn.SamplesFrom(&l.batch, &l.credit)
	if err != nil {
		return err
	}
	stats, err := l.learner.Update(ctx, samples, l.seed.Path(labelUpdate, uint64(n)))
	if err != nil {
		return err
	}
	watch.lap(&it.Time.Update)

	l.count(&it, &stats)
	if err := l.dir.SaveEpisodes(selectEpisodes(l.s.Save, l.episodesBefore, l.batch.Trajectories)); err != nil {
		return err
	}
	watch.lap(&it.Time.Record)

	if n%l.s.Train.EvaluateEvery == 0 || n == l.s.Train.Iterations {
		if err := l.validate(ctx, &it); err != nil {
			return err
		}
		watch.lap(&it.Time.Validate)
	}
	return l.record(&it, watch)
}

// collect plays the groups of iteration n. Round 0 is what the iteration
// begins with; later rounds replace groups.
func (l *loop) collect(ctx context.Context, n, round int) ([]*rl.Group, error) {
	plan := rollout.Plan{
		Seed: l.seed.Path(labelTrain, uint64(n)), FirstGroup: round * l.s.Rollout.Groups, Prefix: prefix(n),
	}
	groups, stats, err := l.collector.Collect(ctx, plan, l.progress(SplitTrain))
	if err != nil {
		return nil, err
	}
	l.cursor.EnvSteps += uint64(stats.Steps)
	l.collected += stats.Episodes
	return groups, nil
}

// skipZero takes the weight of rows whose advantage is 0.
func skipZero(weight, advantage []float64) {
	for i, a := range advantage {
		if a == 0 {
			weight[i] = 0
		}
	}
}
