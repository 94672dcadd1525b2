package train

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rollout"
)

// step is one iteration: collect → score → assign credit → update → validate.
// Until record records its result, only the policy and the sampler have changed.
func (l *loop) step(ctx context.Context) (*iteration, error) {
	n := l.cursor.Iteration + 1
	it := newIteration(n, l.cursor)
	l.unfinished = it
	t, cpu := &it.line.Time, &it.line.Time.CPU

	scored, err := l.collect(ctx, it, 0)
	if err == nil && l.s.Train.Resample > 0 {
		scored, err = l.resample(ctx, it, scored)
	}
	if err != nil {
		return nil, err
	}
	it.lap(&t.Collect, &cpu.Collect)
	t.Collect, cpu.Collect = t.Collect-t.Score, max(0, cpu.Collect-cpu.Score)

	batch, err := l.credit.Assign(scored)
	if err != nil {
		return nil, inIteration(n, err)
	}
	l.logSteps(ctx, batch)
	l.logEpisodes(ctx, SplitTrain, batch)
	if l.s.Train.SkipZero {
		skipZero(batch)
	}
	it.lap(&t.Advantage, &cpu.Advantage)
	t.Align = batch.Aligning.Seconds()
	t.Advantage -= t.Align

	stats, err := l.learn(ctx, it, batch)
	if err != nil {
		return nil, err
	}
	if err := l.learner.Publish(ctx); err != nil {
		return nil, err
	}
	it.lap(&t.Update, &cpu.Update)

	before := l.cursor.Episodes
	it.learned(batch, int(it.cursor.Episodes-before), l.s.Train, &stats)
	l.logStale(ctx, it)
	it.line.Sampling = l.sampler.Measure()
	it.kept = selectEpisodes(l.s.Save, before, batch.Trajectories)
	it.lap(&t.Record, &cpu.Record)

	if n%l.s.Train.EvaluateEvery == 0 || l.s.Train.exhausted(it.cursor) != "" {
		if err := l.validate(ctx, it); err != nil {
			return nil, err
		}
		it.lap(&t.Validate, &cpu.Validate)
	}
	l.watch(it, batch)
	it.lap(&t.Record, &cpu.Record)
	return it, nil
}

// collect plays and scores the groups of an iteration, and drops those that are too old
// to learn from. Round 0 is the first; later rounds replace groups.
func (l *loop) collect(ctx context.Context, it *iteration, round int) (credit.Scored, error) {
	plan := rollout.Plan{
		Seed:       l.seed.Path(credit.SeedTrain, uint64(it.line.Iteration)),
		FirstGroup: round * l.s.Rollout.Groups, Prefix: fmt.Sprintf("train-%d-", it.line.Iteration), Iteration: it.line.Iteration, Branch: true,
	}
	l.choose(&plan)
	cost := &it.line.Cost
	p, err := l.play(ctx, l.player, plan, SplitTrain, &cost.Collect, &cost.Score)
	if err != nil {
		return credit.Scored{}, err
	}
	it.played(p)
	l.report(it, p.Scored)
	if err := l.compareGreedy(ctx, it, plan, p.Groups); err != nil {
		return credit.Scored{}, err
	}
	if l.recorded != nil { // recordings correct for their age themselves
		return p.Scored, nil
	}
	return dropStale(p.Scored, l.learner.Version(), l.s.Train.MaxStaleness, &it.stale), nil
}

// learn updates the policy with a batch.
func (l *loop) learn(ctx context.Context, it *iteration, b *credit.Batch) (policy.Stats, error) {
	e := b.Experience()
	if l.recorded != nil {
		var err error
		if e, it.line.OffPolicy, err = l.recorded.Experience(ctx, l.learner, b); err != nil {
			return policy.Stats{}, err
		}
	}
	if c := l.cursor.Caution; c != nil {
		e.Caution = policy.Caution{Rate: c.Rate, Clip: c.Clip}
	}
	return l.learner.Learn(ctx, e, l.seed.Path(credit.SeedUpdate, uint64(it.line.Iteration)))
}

// skipZero sets the weight of rows with advantage 0 to 0.
func skipZero(b *credit.Batch) {
	for i, a := range b.Credit.Advantage {
		if a == 0 {
			b.Credit.Weight[i] = 0
		}
	}
}
