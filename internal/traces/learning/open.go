// Package learning trains policies from recorded traces: it reads traces, opens a
// session that trains from them into an ordinary run directory, and plays the
// trained policy. The package never writes to a store.
//
// Each answered call of a model is a step, with the credit of its trace. A trace
// with many calls is one trajectory, and counts once where traces are compared.
// The decisions were made earlier, by another policy. A [Set] knows how probable
// each decision was, if that was recorded, and corrects for it, or imitates
// decisions that did better than their group. It reports which method it used and
// how old the traces are. A run uses it as a train.Player.
//
//	cfg, err := merit.LoadConfig("train.yaml", "traces.query=agent=planner")
//	s, err := learning.Open(ctx, cfg, learning.Options{Traces: store})
//	defer s.Close()
//	summary, err := s.Train(ctx, merit.TrainOptions{Dir: "runs/learnt"})
package learning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options configures Open.
type Options struct {
	// Traces is the store of the traces: a *store.Store.
	Traces Traces
	// Resume is the directory of the run to resume, whose traces must not have
	// changed; empty for a new run.
	Resume string
	// Now is the reference for relative times in the query of a new run; zero means
	// the current time.
	Now time.Time
}

// Open reads the traces that cfg selects and opens a session that learns from them.
// It stores the choices in cfg. If cfg has no rewards, it uses the rewards that are
// recorded in the traces. Close the session to release its resources.
func Open(ctx context.Context, cfg *merit.Config, o Options, opts ...merit.Option) (*merit.Session, error) {
	if !cfg.Traced() {
		return nil, wrong(fault.Missing, "traces.query", "no traces are selected", `set a query, such as "agent=planner since=7d", or all`)
	}
	recorded := len(cfg.Rewards) == 0
	read := Reading{Config: *Of(cfg), Now: o.Now, Chooses: cfg.Policy.Plugin == "", Scored: recorded}
	if read.Now.IsZero() {
		read.Now = time.Now().UTC()
	}
	before, err := begun(o.Resume)
	if err != nil {
		return nil, err
	}
	if before != nil {
		read.Now = before.Now
		read.SplitBy = cmp.Or(before.SplitBy, splitByTask) // runs of earlier versions went by the task
	}
	opts = append(opts, merit.WithRecordings(func(ctx context.Context, spec env.Spec, start merit.OpenEnv) (merit.Recordings, error) {
		read.Environment, read.Start = spec, start
		set, err := Read(ctx, o.Traces, read)
		if err != nil {
			return merit.Recordings{}, cfg.Places.Explain("", err)
		}
		if before != nil && before.Digest != set.About().Digest {
			return merit.Recordings{}, differs(o.Resume, set.Index())
		}
		if err := compares(cfg, set); err != nil {
			return merit.Recordings{}, cfg.Places.Explain("", err)
		}
		chosen := *Of(cfg)
		chosen.Choices = set.Choices()
		cfg.Traces = &chosen
		return set.Recordings(cfg), nil
	}))
	if recorded {
		opts = append(opts, merit.WithScorer(Recorded{Played: reward.Environment{}}, 1))
	}
	return merit.Open(ctx, cfg, opts...)
}

// begun returns the traces of the run in dir; nil if the run has not started.
func begun(dir string) (*run.Traces, error) {
	if dir == "" {
		return nil, nil
	}
	m, err := run.ReadManifest(dir)
	if errors.Is(err, fault.Of("", fault.Missing)) {
		return nil, nil
	}
	if err != nil || m.Traces == nil {
		return nil, err
	}
	return m.Traces, nil
}

// differs returns an error that names the traces that differ from those of the run in dir.
func differs(dir string, now []run.TraceLine) error {
	before, err := run.ReadTraces(dir)
	if err != nil {
		return err
	}
	digests := map[string]string{}
	for _, line := range before {
		digests[line.Trace] = line.Digest
	}
	var names []string
	for _, line := range now {
		was, there := digests[line.Trace]
		switch {
		case !there:
			names = append(names, line.Trace+" is new")
		case was != line.Digest:
			names = append(names, line.Trace+" changed")
		}
		delete(digests, line.Trace)
	}
	for _, line := range before {
		if _, gone := digests[line.Trace]; gone {
			names = append(names, line.Trace+" is missing")
		}
	}
	const most = 5
	what := strings.Join(names[:min(most, len(names))], ", ")
	if n := len(names) - most; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Differs, Where: dir, What: "the traces differ from those that the run started with: " + what,
		Hint: "restore them with merit traces import, or start a new run in another directory",
	}
}

// absolute lists the estimators that also compare traces of different tasks.
var absolute = []string{"reinforce_pp", "gae"}

// compares returns an error if nothing would be learned, because every task has one
// trace and the estimator compares traces within a task.
func compares(cfg *merit.Config, set *Set) error {
	if !set.Alone() || cfg.Advantage.Singleton != "zero" || slices.Contains(absolute, cfg.Advantage.Estimator) {
		return nil
	}
	return wrong(fault.Invalid, "advantage.estimator",
		fmt.Sprintf("%s compares the traces of a task with each other, but every task has only one", cfg.Advantage.Estimator),
		"record several traces of a task (the same task or metadata.group), or use reinforce_pp, which compares over the whole batch")
}

func wrong(kind fault.Kind, where, what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: kind, Where: where, What: what, Hint: hint}
}
