package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
)

// loop is a run under way.
type loop struct {
	s    Settings
	deps Deps
	dir  *run.Dir
	seed rl.Seed

	learner   policy.Learner
	collector *rollout.Collector // plays the train split
	validator *rollout.Collector // plays the validation split
	credit    credit.Pipeline    // of training
	scoring   credit.Pipeline    // of evaluations, which only score

	cursor  run.Cursor      // where the run stands: behind the last recorded iteration
	history []run.Iteration // all that is recorded
}

func newLoop(ctx context.Context, s Settings, deps Deps, dir *run.Dir) (*loop, error) {
	l := &loop{s: s, deps: deps, dir: dir, seed: rl.Seed(s.Seed)}
	l.scoring = credit.Pipeline{Rewards: reward.NewPool(deps.Rewards, s.Rollout.Parallel), Align: s.Align}
	l.credit = l.scoring
	l.credit.Advantage = &l.s.Advantage
	l.cursor = run.Cursor{Seed: s.Seed, Outcomes: map[string]int{}}
	for _, e := range advantage.Estimators() {
		if e.Name == s.Advantage.Estimator {
			l.s.Monitor = s.Monitor.For(e.Anchors, !e.Values && !e.Whitens)
		}
	}
	if deps.Source != nil {
		l.s.Monitor = l.s.Monitor.ForRecorded()
	}
	spec, err := l.spec(ctx)
	if err != nil {
		return nil, err
	}
	if l.learner, err = deps.OpenPolicy(ctx, spec, s.Train.Iterations); err != nil {
		return nil, err
	}
	if l.estimates() {
		return l, nil
	}
	if l.collector, err = l.newCollector(SplitTrain); err == nil {
		l.validator, err = l.newCollector(SplitValidation)
	}
	return l, err
}

// spec asks an environment what it is.
func (l *loop) spec(ctx context.Context) (env.Spec, error) {
	if l.estimates() {
		return l.deps.Source.Spec(), nil
	}
	e, err := l.deps.OpenEnv(ctx, SplitTrain, 0)
	if err != nil {
		return env.Spec{}, err
	}
	return e.Spec(), e.Close()
}

func (l *loop) newCollector(split string) (*rollout.Collector, error) {
	open := func(ctx context.Context, worker int) (env.Env, error) { return l.deps.OpenEnv(ctx, split, worker) }
	return rollout.New(l.s.Rollout, open, l.learner, rollout.WithLogger(l.deps.Log.With("split", split)))
}

func (l *loop) close() error {
	var errs []error
	for _, c := range []*rollout.Collector{l.collector, l.validator} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if l.learner != nil {
		errs = append(errs, l.learner.Close())
	}
	return errors.Join(errs...)
}

// progress returns a function that passes a collection's progress on.
func (l *loop) progress(what string) func(rollout.Progress) {
	return func(p rollout.Progress) { l.deps.Progress.Collecting(what, p.Episodes, p.Total) }
}

// inIteration says in which iteration a learner's error arose.
func inIteration(n int, err error) error {
	if f := fault.As(err); f != nil && f.Boundary == fault.Learner {
		f.Where = fmt.Sprintf("iteration %d", n)
	}
	return err
}
