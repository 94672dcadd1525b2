package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
)

// Labels of the branches of the run's seed.
const (
	labelInit uint64 = iota + 1
	labelTrain
	labelUpdate
	labelValidation
	labelTest
)

// loop is a run under way.
type loop struct {
	s    Settings
	deps Deps
	dir  *run.Dir
	seed rl.Seed

	policy    *learn.Policy
	learner   *learn.Learner
	collector *rollout.Collector // plays the train split
	validator *rollout.Collector // plays the validation split
	pool      *reward.Pool

	cursor         run.Cursor
	collected      int    // episodes of the running iteration, dropped ones too
	episodesBefore uint64 // episodes of the iterations before the running one
	batch          align.Batch
	credit         advantage.Result
}

func newLoop(ctx context.Context, s Settings, deps Deps, dir *run.Dir) (*loop, error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Progress == nil {
		deps.Progress = Quiet{}
	}
	if s.PPO.Schedule.Updates == 0 {
		s.PPO.Schedule.Updates = max(s.Train.Iterations, s.PPO.Schedule.WarmUp+1)
	}
	l := &loop{s: s, deps: deps, dir: dir, seed: rl.Seed(s.Seed), pool: reward.NewPool(deps.Rewards, s.Rollout.Parallel)}
	l.cursor = run.Cursor{Seed: s.Seed, Outcomes: map[string]int{}}
	spec, err := l.spec(ctx)
	if err != nil {
		return nil, err
	}
	if l.policy, err = l.newPolicy(spec); err != nil {
		return nil, err
	}
	if l.learner, err = learn.NewLearner(s.PPO, l.policy); err != nil {
		return nil, err
	}
	if l.collector, err = l.newCollector(SplitTrain, l.policy); err != nil {
		return nil, err
	}
	l.validator, err = l.newCollector(SplitValidation, l.policy)
	return l, err
}

// spec asks an environment what it is.
func (l *loop) spec(ctx context.Context) (env.Spec, error) {
	e, err := l.deps.OpenEnv(ctx, SplitTrain, 0)
	if err != nil {
		return env.Spec{}, err
	}
	return e.Spec(), e.Close()
}

// newPolicy returns the untrained policy, which is a function of the seed.
func (l *loop) newPolicy(spec env.Spec) (*learn.Policy, error) {
	return learn.NewPolicy(l.s.Policy, learn.Input{Shape: spec.FeatureShape, Actions: spec.Actions}, l.seed.Child(labelInit))
}

func (l *loop) newCollector(split string, p policy.Policy) (*rollout.Collector, error) {
	open := func(ctx context.Context, worker int) (env.Env, error) { return l.deps.OpenEnv(ctx, split, worker) }
	return rollout.New(l.s.Rollout, open, p, rollout.WithLogger(l.deps.Log.With("split", split)))
}

func (l *loop) close() error {
	var errs []error
	for _, c := range []*rollout.Collector{l.collector, l.validator} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// progress returns a function that passes a collection's progress on.
func (l *loop) progress(what string) func(rollout.Progress) {
	return func(p rollout.Progress) { l.deps.Progress.Collecting(what, p.Episodes, p.Total) }
}

func prefix(iteration int) string { return fmt.Sprintf("train-%d-", iteration) }

func numeric(iteration int, what string, err error) error {
	return &fault.Error{
		Boundary: fault.Learner, Kind: fault.Numeric, Where: fmt.Sprintf("iteration %d", iteration), What: what, Err: err,
		Hint: "look at the rewards with `merit view`; all base rewards must be finite and of reasonable size",
	}
}
