// Package train is the training loop: collect → score → assign credit → update
// → record, with validation, early stopping, checkpoints, resuming and the
// final table of the untrained and the trained policy.
//
// Everything that a run does is a function of its settings, its seed and the
// reward modules; times are only in "time" fields, and what language models used only
// in "cost" fields. Deps provide environments and rewards.
package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cost"
)

// Run trains a policy into dir and returns the summary that it wrote there. It
// begins at dir's last checkpoint. Its final files are the same, byte for byte
// except for wall clock times, however often the run was killed. If the policy
// is lost, Run opens it again, at most Config.Restarts times, and continues as
// a killed run would.
//
// When ctx ends, Run returns soon, with a *fault.Error of kind Interrupted that
// explains how to resume; the last checkpoint remains.
func Run(ctx context.Context, s Settings, deps Deps, dir *run.Dir) (*run.Summary, error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Progress == nil {
		deps.Progress = Quiet{}
	}
	for restarts := 0; ; restarts++ {
		summary, err := attempt(ctx, s, deps, dir)
		if restarts == s.Train.Restarts || !fault.Retryable(err) {
			return summary, err
		}
		deps.Log.WarnContext(ctx, "the policy was lost; continuing from the last checkpoint", "cause", err)
	}
}

// attempt runs until the run is finished or the policy is lost.
func attempt(ctx context.Context, s Settings, deps Deps, dir *run.Dir) (*run.Summary, error) {
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
		err = errors.Join(err, l.repeat(), l.close())
	}
	return nil, err
}

func (l *loop) run(ctx context.Context) (*run.Summary, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	for l.cursor.Stop == "" {
		it, err := l.step(ctx)
		if err != nil {
			return nil, err
		}
		if err := l.record(ctx, it); err != nil {
			return nil, err
		}
	}
	return l.finish(ctx)
}

// begin resumes from the last checkpoint, or measures the untrained policy.
func (l *loop) begin(ctx context.Context) error {
	checkpoint, err := l.dir.Resume()
	if err != nil {
		return err
	}
	if checkpoint != nil {
		if err := l.restore(ctx, checkpoint); err != nil {
			return err
		}
		l.began()
		return nil
	}
	it := newIteration(0, l.cursor)
	l.unfinished = it
	if err := l.check(ctx, it); err != nil {
		return err
	}
	l.began()
	if l.recorded != nil {
		if err := l.dir.WriteTraces(l.recorded.Index()); err != nil {
			return err
		}
	}
	if err := l.validate(ctx, it); err != nil {
		return err
	}
	it.lap(&it.line.Time.Validate, &it.line.Time.CPU.Validate)
	return l.record(ctx, it)
}

// check checks the reward and stores the result.
func (l *loop) check(ctx context.Context, it *iteration) error {
	if l.deps.Check == nil {
		return nil
	}
	meter := new(cost.Meter)
	found, err := l.deps.Check(cost.With(ctx, meter))
	it.line.Cost.Check.Models = meter.Models()
	if err != nil {
		return err
	}
	var seconds float64 // of the check, which belong to no stage
	it.lap(&seconds, &it.line.Time.CPU.Check)
	return l.dir.WriteCheck(found)
}

// began reports the earlier iterations of the run.
func (l *loop) began() {
	if b, ok := l.deps.Progress.(Beginner); ok {
		b.Began(slices.Clone(l.history), l.s.Train.Iterations)
	}
}

// record finishes an iteration: it writes the episodes and the line, moves the
// cursor of the run, and saves a checkpoint if one is due.
func (l *loop) record(ctx context.Context, it *iteration) error {
	line, c := &it.line, &it.cursor
	it.starts.Iteration = line.Iteration
	if err := errors.Join(l.dir.SaveEpisodes(it.kept), l.dir.RecordStarts(it.starts)); err != nil {
		return err
	}
	it.lap(&line.Time.Record, &line.Time.CPU.Record)
	line.EnvSteps, line.Episodes = c.EnvSteps, c.Episodes
	if c.Stop == "" {
		c.Stop = l.s.Train.exhausted(*c)
	}
	line.Time.Total = it.last.Sub(it.begin).Seconds()
	if line.Time.Collect > 0 && line.Rollout != nil {
		line.Time.StepsPerSecond = float64(line.Rollout.Steps) / line.Time.Collect
	}
	if it.batch != nil {
		line.Advantage.KeptForgotten = l.credit.Kept.Add(&it.batch.Rows, nil)
	}
	if err := l.dir.Record(*line); err != nil {
		return err
	}
	c.MetricLines++
	l.unfinished = nil
	l.history = append(l.history, *line)
	l.cursor = *c
	l.deps.Progress.Iterated(*line, l.s.Train.Iterations)
	if line.Best || c.Stop != "" || c.Iteration%l.s.Train.CheckpointEvery == 0 || l.s.Train.Keep.Due(c.Iteration) {
		return l.checkpoint(ctx)
	}
	return nil
}

func interrupted(dir *run.Dir, l *loop) error {
	e := &fault.Error{
		Boundary: fault.CLI, Kind: fault.Interrupted, Where: dir.Path(),
		What: "stopped before the run began; nothing was written", Hint: "run the command again, with or without --resume",
	}
	if dir.Begun() {
		e.What, e.Hint = "stopped before the run resumed; the last checkpoint is kept", "resume it with --resume"
	}
	if l != nil && l.cursor.MetricLines > 0 {
		e.What = fmt.Sprintf("stopped after %d iterations; the last checkpoint is kept", l.cursor.Iteration)
	}
	return e
}
