package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Run trains a policy into dir and returns the summary that it wrote there. It
// begins where dir's last checkpoint stands; what it writes in the end is the
// same, byte for byte but for the wall clock, however often it was killed.
//
// When ctx ends, Run returns soon, with a *fault.Error of kind Interrupted
// that says how to go on; the last checkpoint stays.
func Run(ctx context.Context, s Settings, deps Deps, dir *run.Dir) (*run.Summary, error) {
	l, err := newLoop(ctx, s, deps, dir)
	if err == nil {
		var summary *run.Summary
		if summary, err = l.run(ctx); err == nil {
			return summary, l.close()
		}
	}
	if ctx.Err() != nil {
		err = interrupted(dir, l)
	}
	if l != nil {
		err = errors.Join(err, l.close())
	}
	return nil, err
}

func (l *loop) run(ctx context.Context) (*run.Summary, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	for l.cursor.Stop == "" {
		if err := l.step(ctx); err != nil {
			return nil, err
		}
	}
	return l.finish(ctx)
}

// begin takes up the last checkpoint, or measures the untrained policy.
func (l *loop) begin(ctx context.Context) error {
	checkpoint, err := l.dir.Resume()
	if err != nil {
		return err
	}
	if checkpoint != nil {
		return l.restore(checkpoint)
	}
	watch := startWatch()
	it := run.Iteration{}
	if err := l.validate(ctx, &it); err != nil {
		return err
	}
	watch.lap(&it.Time.Validate)
	return l.record(&it, watch)
}

// record ends an iteration: its line, and a checkpoint when one is due.
func (l *loop) record(it *run.Iteration, watch *watch) error {
	c := &l.cursor
	c.Iteration = it.Iteration
	it.EnvSteps, it.Episodes = c.EnvSteps, c.Episodes
	if c.Stop == "" && c.Iteration >= l.s.Train.Iterations {
		c.Stop = run.StopIterations
	}
	watch.total(&it.Time.Total)
	if it.Time.Collect > 0 && it.Rollout != nil {
		it.Time.StepsPerSecond = float64(it.Rollout.Steps) / it.Time.Collect
	}
	if err := l.dir.Record(*it); err != nil {
		return err
	}
	c.MetricLines++
	l.deps.Progress.Iterated(*it, l.s.Train.Iterations)
	if it.Best || c.Stop != "" || c.Iteration%l.s.Train.CheckpointEvery == 0 {
		return l.checkpoint()
	}
	return nil
}

func interrupted(dir *run.Dir, l *loop) error {
	done := 0
	if l != nil {
		done = l.cursor.Iteration
	}
	return &fault.Error{
		Boundary: fault.CLI, Kind: fault.Interrupted, Where: dir.Path(),
		What: fmt.Sprintf("stopped after %d iterations; the last checkpoint is kept", done),
		Hint: "go on with: merit train --resume --out " + dir.Path(),
	}
}
