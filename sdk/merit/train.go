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

// TrainOptions say where a run goes.
type TrainOptions struct {
	// Dir is the run directory. It is made if it does not exist.
	Dir string
	// Resume goes on with the run in Dir; the configuration may differ in what
	// does not change the run's bytes, and in train.iterations. Fewer of them
	// than the run has done end it where it stands.
	Resume bool
	// Overwrite replaces the run in Dir.
	Overwrite bool
	// Check, if it is set, looks at the reward before a run begins, as
	// rubricstudy.Before does; what it returns is written as rubric-check.json.
	Check func(ctx context.Context) (any, error)
	// OpenPlayer, if it is set, says who plays for the run in the place of this
	// process, as internal/fleet has it. It changes no byte of the run.
	OpenPlayer train.OpenPlayer
}

// Train trains a policy into a run directory and returns the summary that lies
// there. When ctx ends it returns soon, with a fault of kind Interrupted; the
// run can be resumed and ends with the same bytes as one that was not stopped.
func (s *Session) Train(ctx context.Context, o TrainOptions) (summary *run.Summary, err error) {
	switch {
	case o.Dir == "":
		return nil, misuse("a run needs a directory", "name it in TrainOptions.Dir")
	case o.Resume && o.Overwrite:
		return nil, misuse("a run is either resumed or replaced", "set one of Resume and Overwrite")
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
	options.Manifest.Host, _ = os.Hostname() // unknown stays empty
	cfg := s.Config
	if o.Resume {
		if cfg, err = cfg.reaching(o.Dir); err != nil {
			return nil, err
		}
		if options.Changes, err = cfg.CheckRun(o.Dir); err != nil {
			return nil, err
		}
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
	deps := train.Deps{
		OpenEnv: s.OpenEnv, OpenPolicy: openPolicy, OpenPlayer: o.OpenPlayer, Check: o.Check, Rewards: s.Parts, Log: s.options.log, Progress: s.options.progress, Report: makeReport,
	}
	if s.options.recorded != nil {
		s.fromRecordings(&deps)
	}
	return train.Run(ctx, cfg.Settings(), deps, dir)
}

// fromRecordings has a run learn from recordings, by which it is measured too if
// there is no environment to play.
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

// CheckRun holds c to the run in dir and returns what it changes of its
// configuration, or an error for every key that keeps it from going on with that
// run. A directory without a run, or with one that was stopped before it began,
// has nothing against c.
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

// within returns c as LoadRun would read it back from dir: with equal paths for
// equal files, wherever the process stands.
func (c *Config) within(dir string) (*Config, error) {
	text, err := c.Marshal(dir)
	if err != nil {
		return nil, err
	}
	return parse(dir, text, dir, nil, func(*Config) []error { return nil })
}

// reaching returns c with as many iterations as the run in dir has done, if it
// asks for fewer: its configuration says what ran.
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

// misuse is a mistake in what a program asks for.
func misuse(what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, What: what, Hint: hint}
}

// DefaultDir names a new run directory after the time.
func DefaultDir(now time.Time) string {
	return filepath.Join("runs", now.UTC().Format("20060102-150405"))
}

// Differences returns the keys, in the order of the file, whose values differ
// between c and other; a list counts as one key, a plug-in's option too.
func (c *Config) Differences(other *Config) (keys []string) {
	for _, d := range config.Differences(c, other) {
		keys = append(keys, d.Key)
	}
	return keys
}

// CheckResume returns an error for every key of now that keeps it from going
// on with a run that began with c: every key but those with the tag resume, none
// of which changes the bytes of what is already written. Of what is still to come,
// only train.iterations and what an alarm does change any.
func (c *Config) CheckResume(now *Config) error {
	var errs []error
	free := config.Free(c)
	for _, key := range c.Differences(now) {
		if !slices.Contains(free, key) {
			errs = append(errs, &fault.Error{
				Boundary: fault.Config, Kind: fault.Invalid, Where: key, What: "changed since the run began",
				Hint: "go on with the configuration of the run as it was, or start a new run in another directory",
			})
		}
	}
	return errors.Join(errs...)
}
