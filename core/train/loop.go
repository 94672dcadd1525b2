package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/keptgraph"
)

// loop is a run in progress.
type loop struct {
	s    Settings
	deps Deps
	dir  *run.Dir
	seed rl.Seed

	learner   policy.Learner
	player    Player          // of the train split
	validator Player          // of the validation split
	recorded  Recorded        // the player, if it plays recordings
	credit    credit.Pipeline // of training
	scoring   credit.Pipeline // of evaluations, which only score

	sampler *sampling.Sampler // of training; nil plays a new task in every group

	cursor  run.Cursor      // the state of the run after the last recorded iteration
	history []run.Iteration // all recorded iterations

	refused    string     // why recordings do not measure the policy, of the last evaluation; see Played.Least
	unfinished *iteration // in progress, or the final evaluations; nil between iterations
}

func newLoop(ctx context.Context, s Settings, deps Deps, dir *run.Dir) (*loop, error) {
	l := &loop{s: s, deps: deps, dir: dir, seed: rl.Seed(s.Seed)}
	l.scoring = credit.Pipeline{Rewards: reward.NewPool(deps.Rewards, s.Rollout.Parallel), Align: s.Align}
	l.credit = l.scoring
	l.credit.Advantage, l.credit.Kept = &l.s.Advantage, keptgraph.New(s.Advantage)
	l.cursor = run.Cursor{Seed: s.Seed, Outcomes: map[string]int{}}
	for _, e := range advantage.Estimators() {
		if e.Name == s.Advantage.Estimator {
			l.s.Monitor = s.Monitor.For(e.Anchors, !e.Values && !s.Advantage.Whitens() && !l.credit.NeedsGreedy())
		}
	}
	spec, err := l.spec(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.sample(spec); err != nil {
		return nil, err
	}
	if l.learner, err = deps.OpenPolicy(ctx, spec, s.Train.Iterations); err != nil {
		return nil, err
	}
	if deps.Start != nil {
		if err := l.reset(ctx); err != nil {
			return l, err
		}
	}
	if l.player, err = l.open(ctx, SplitTrain); err == nil {
		l.validator, err = l.open(ctx, SplitValidation)
	}
	if l.recorded, _ = l.player.(Recorded); l.recorded != nil {
		l.s.Monitor = l.s.Monitor.ForRecorded()
	}
	return l, err
}

// spec returns the specification for which the policy is made.
func (l *loop) spec(ctx context.Context) (env.Spec, error) {
	if l.deps.Spec != nil {
		return *l.deps.Spec, nil
	}
	e, err := l.deps.OpenEnv(ctx, SplitTrain, 0)
	if err != nil {
		return env.Spec{}, err
	}
	return e.Spec(), e.Close()
}

// open returns the player of a split.
func (l *loop) open(ctx context.Context, split string) (Player, error) {
	if l.deps.OpenPlayer != nil {
		return l.deps.OpenPlayer(ctx, split, l.learner)
	}
	open := func(ctx context.Context, worker int) (env.Env, error) { return l.deps.OpenEnv(ctx, split, worker) }
	return LocalPlayer(l.s.Rollout, open, l.learner, &l.scoring, l.deps.Log.With("split", split))
}

func (l *loop) close() error {
	var errs []error
	for _, p := range []Player{l.player, l.validator} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	if l.learner != nil {
		errs = append(errs, l.learner.Close())
	}
	return errors.Join(errs...)
}

// progress returns a function that reports the progress of a collection.
func (l *loop) progress(what string) func(rollout.Progress) {
	return func(p rollout.Progress) { l.deps.Progress.Collecting(what, p.Episodes, p.Total) }
}

// inIteration adds the iteration to an error of the learner.
func inIteration(n int, err error) error {
	if f := fault.As(err); f != nil && f.Boundary == fault.Learner {
		f.Where = fmt.Sprintf("iteration %d", n)
	}
	return err
}

// LearnerState returns the learner's state in a checkpoint, as
// policy.Learner.Save returned it.
func LearnerState(c *run.Checkpoint) ([]byte, error) {
	data, ok := c.Section(learnerSection)
	if !ok {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Corrupt, Where: "checkpoint", What: "it does not contain a learner state",
			Hint: "train again in a new directory: another version of Merit wrote this checkpoint",
		}
	}
	return data, nil
}

// The sections of a checkpoint: the states of the learner, of the sampler and of the kept
// graphs of tigpo, if there are any.
const (
	learnerSection = "learner"
	samplerSection = "sampler"
	keptSection    = "kept_graph"
)

func (l *loop) checkpoint(ctx context.Context) error {
	state, err := l.learner.Save(ctx, fmt.Sprintf("iteration-%d", l.cursor.Iteration))
	if err != nil {
		return err
	}
	c := &run.Checkpoint{Cursor: l.cursor, Sections: []run.Section{{Name: learnerSection, Data: state}}}
	if l.sampler != nil {
		c.Sections = append(c.Sections, run.Section{Name: samplerSection, Data: l.sampler.State()})
	}
	if l.credit.Kept != nil {
		c.Sections = append(c.Sections, run.Section{Name: keptSection, Data: l.credit.Kept.Bytes()})
	}
	return l.dir.SaveCheckpoint(c, l.s.Train.Keep)
}

// load loads the learner's state from a checkpoint of the run.
func (l *loop) load(ctx context.Context, c *run.Checkpoint) error {
	state, err := LearnerState(c)
	if err != nil {
		return err
	}
	return l.learner.Load(ctx, state)
}

// restoreKept restores the kept graphs from a checkpoint of the run.
func (l *loop) restoreKept(c *run.Checkpoint) error {
	if l.credit.Kept == nil {
		return nil
	}
	data, _ := c.Section(keptSection)
	err := l.credit.Kept.Restore(data)
	if err == nil {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Corrupt, Where: "checkpoint", What: "it does not contain the kept graphs of tigpo", Err: err,
		Hint: "train again in a new directory: another version of Merit wrote this checkpoint",
	}
}

// reset puts the learner into the state that the run starts from.
func (l *loop) reset(ctx context.Context) error {
	if l.deps.Start == nil {
		return l.learner.Load(ctx, nil)
	}
	return l.deps.Start.In(ctx, l.learner)
}

// restore restores the state of the loop from a checkpoint.
func (l *loop) restore(ctx context.Context, c *run.Checkpoint) error {
	if err := errors.Join(l.load(ctx, c), l.restoreSampler(c), l.restoreKept(c)); err != nil {
		return err
	}
	var err error
	if l.history, err = run.ReadMetrics(l.dir.Path()); err != nil {
		return err
	}
	l.cursor = c.Cursor
	if l.cursor.Outcomes == nil {
		l.cursor.Outcomes = map[string]int{}
	}
	switch reached := l.cursor.Iteration >= l.s.Train.Iterations; {
	case !reached && l.cursor.Stop == run.StopAlarm && l.s.Monitor.OnAlarm != monitor.OnAlarmStop && l.s.Train.Stop.Flags != flagsStop:
		l.cursor.Stop = "" // the user has seen the alarm and continues
	case !reached && l.cursor.Stop == run.StopIterations:
		l.cursor.Stop = "" // the user raised the number of iterations
	case reached && l.cursor.Stop == "":
		l.cursor.Stop = run.StopIterations // the user lowered the number of iterations
	}
	l.deps.Log.Info("resuming", "iteration", l.cursor.Iteration, "run", l.dir.Path())
	return nil
}
