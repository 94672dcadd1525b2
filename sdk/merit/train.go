package merit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// TrainOptions configure where and how Train writes a run.
type TrainOptions struct {
	// Dir is the run directory. Train creates it if it does not exist.
	Dir string
	// Resume continues the run in Dir. The configuration may differ in keys
	// that do not change what the run has written, and in train.iterations. If
	// the run has already done more iterations than that, it finishes at once.
	Resume bool
	// Overwrite replaces the run in Dir.
	Overwrite bool
	// Check, if set, checks the reward before a run begins, as
	// rubricstudy.Before does. Its result is written to rubric-check.json.
	Check func(ctx context.Context) (any, error)
	// OpenPlayer, if set, opens what plays for the run instead of this process,
	// such as internal/fleet. It does not change the files of the run.
	OpenPlayer train.OpenPlayer
}

// Train trains a policy into a run directory and returns the summary that it
// wrote there. If ctx is canceled, Train returns soon with a fault of kind
// Interrupted. The run can then be resumed, and produces the same bytes as a
// run that was not interrupted.
func (s *Session) Train(ctx context.Context, o TrainOptions) (summary *run.Summary, err error) {
	switch {
	case o.Dir == "":
		return nil, misuse("the run has no directory", "set TrainOptions.Dir")
	case o.Resume && o.Overwrite:
		return nil, misuse("a run cannot be resumed and replaced at once", "set only one of Resume and Overwrite")
	}
	if err := s.samples(); err != nil {
		return nil, err
	}
	openPolicy, release, err := s.learner(ctx, &s.options, s.Config.Train.Iterations)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if s.idle != nil {
		return nil, s.idle
	}
	options := run.Options{Manifest: s.Manifest(), Resume: o.Resume, Overwrite: o.Overwrite}
	options.Manifest.Started = time.Now().UTC()
	options.Manifest.Host, _ = os.Hostname() // empty if unknown
	cfg := s.Config
	if o.Resume {
		if cfg, err = cfg.begun(o.Dir).reaching(o.Dir); err != nil {
			return nil, err
		}
		if options.Changes, err = cfg.CheckRun(o.Dir); err != nil {
			return nil, err
		}
	}
	start, err := cfg.start(o.Dir, &options)
	if err != nil {
		return nil, err
	}
	if start != nil {
		cfg = cfg.from(o.Dir)
	}
	if options.Config, err = cfg.Marshal(o.Dir); err != nil {
		return nil, err
	}
	dir, err := run.Start(o.Dir, options)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := dir.Close(); err == nil {
			err = closed
		}
	}()
	if err := s.record(filepath.Join(o.Dir, answersFolder)); err != nil {
		return nil, err
	}
	deps := train.Deps{
		OpenEnv: s.OpenEnv, OpenPolicy: openPolicy, Start: start, OpenPlayer: o.OpenPlayer, Check: o.Check, Rewards: s.Parts, Log: s.options.log, Progress: s.options.progress, Report: makeReport,
		Prices: cfg.Prices, PolicyModel: cfg.policyPrice(s.Player),
	}
	if s.options.recorded != nil {
		s.fromRecordings(&deps)
	}
	return train.Run(ctx, cfg.Settings(), deps, dir)
}

// fromRecordings makes a run learn from recordings. If there is no environment
// to play, recordings measure the run too.
func (s *Session) fromRecordings(d *train.Deps) {
	r, play := s.options.recorded, d.OpenPlayer
	scoring := &credit.Pipeline{Rewards: reward.NewPool(s.Parts, s.Config.Rollout.Parallel), Align: s.Config.Align}
	if s.options.open == nil {
		d.Spec = &r.Spec
	}
	d.OpenPlayer = func(ctx context.Context, split string, p policy.Learner) (train.Player, error) {
		switch {
		case split == train.SplitTrain || s.options.open == nil:
			return r.Player(split, p, scoring), nil
		case play != nil:
			return play(ctx, split, p)
		}
		open := func(ctx context.Context, worker int) (env.Env, error) { return s.OpenEnv(ctx, split, worker) }
		return train.LocalPlayer(s.Config.rollout(), open, p, scoring, s.options.log.With("split", split))
	}
}

// CheckRun compares c with the configuration of the run in dir. It returns the
// keys that differ, and an error for every key that prevents resuming the run
// with c. Without a run in dir, or if it was stopped before it began, CheckRun
// returns nothing.
func (c *Config) CheckRun(dir string) (changes []run.Change, err error) {
	if _, err := run.ReadManifest(dir); errors.Is(err, fault.Of("", fault.Missing)) {
		return nil, nil
	}
	began, err := LoadRun(dir)
	if err != nil {
		return nil, err
	}
	now, err := c.within(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range config.Differences(began, now) {
		changes = append(changes, run.Change{Key: d.Key, Before: fmt.Sprint(d.A), Now: fmt.Sprint(d.B)})
	}
	return changes, began.CheckResume(now)
}

// within returns c as LoadRun would read it from dir, so that equal files have
// equal paths whatever the working directory is.
func (c *Config) within(dir string) (*Config, error) {
	text, err := c.Marshal(dir)
	if err != nil {
		return nil, err
	}
	return parse(dir, text, dir, nil, func(*Config) []error { return nil })
}

// reaching returns c with at least as many iterations as the run in dir has
// done, because the run's configuration must describe what ran.
func (c *Config) reaching(dir string) (*Config, error) {
	last, err := run.ReadCheckpoint(dir, run.Last)
	if errors.Is(err, fault.Of("", fault.Missing)) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	longer := *c
	longer.Train.Iterations = max(c.Train.Iterations, last.Cursor.Iteration)
	return &longer, nil
}

// misuse returns the error of an option that is wrong.
func misuse(what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, What: what, Hint: hint}
}

// DefaultDir returns the name of a new run directory, made from the time.
func DefaultDir(now time.Time) string {
	return filepath.Join("runs", now.UTC().Format("20060102-150405"))
}

// Differences returns the keys whose values differ between c and other, in the
// order of the file. A list counts as one key, and so does an option of a
// plug-in.
func (c *Config) Differences(other *Config) (keys []string) {
	for _, d := range config.Differences(c, other) {
		keys = append(keys, d.Key)
	}
	return keys
}

// CheckResume returns an error for every key of now that prevents resuming a
// run that began with c. That is every key without the tag resume. Keys with
// the tag do not change the bytes that are already written. Of the bytes that
// are still to come, only train.iterations and the action of an alarm change
// any.
func (c *Config) CheckResume(now *Config) error {
	var errs []error
	free := config.Free(c)
	for _, key := range c.Differences(now) {
		if !slices.Contains(free, key) {
			errs = append(errs, &fault.Error{
				Boundary: fault.Config, Kind: fault.Invalid, Where: key, What: "changed since the run began",
				Hint: "resume with the value that the run began with, or start a new run in another directory",
			})
		}
	}
	return errors.Join(errs...)
}
