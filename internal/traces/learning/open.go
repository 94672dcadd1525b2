// Package learning trains policies from what agents did already: it reads traces,
// makes a session of them that trains into a run directory like any other, and
// plays what such a run has learnt. Nothing here writes to a store.
//
// Each call of a model that was answered is a step, with the credit of its trace.
// A trace with many calls is one trajectory, and counts once where traces are
// compared. What is learnt from was decided by somebody else, a while ago. A [Set]
// knows how likely it was then, where that was recorded, and corrects for it, or
// imitates what did better than its group; it says which, and how old the traces
// are. A run plays it as a train.Player.
//
//	cfg, err := merit.LoadConfig("train.yaml", "traces.query=agent=planner")
//	s, err := learning.Open(ctx, cfg, learning.Options{Traces: store})
//	defer s.Close()
//	summary, err := s.Train(ctx, merit.TrainOptions{Dir: "runs/learnt"})
package learning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options say where the traces are.
type Options struct {
	// Traces is where they are kept: a *store.Store.
	Traces Traces
	// Resume is the directory of the run that goes on, whose traces must be what
	// they were; empty for a new run.
	Resume string
	// Now is what times in the query are relative to, for a new run; the time now
	// if it is zero.
	Now time.Time
}

// Open reads the traces that cfg asks for and opens a session that learns from
// them; the answers that they choose among are then part of cfg. Without rewards
// in cfg, those count that are recorded in the traces. Close frees what it holds.
func Open(ctx context.Context, cfg *merit.Config, o Options, opts ...merit.Option) (*merit.Session, error) {
	if !cfg.Traced() {
		return nil, wrong(fault.Missing, "traces.query", "no traces are chosen", `write a query, such as "agent=planner since=7d", or all`)
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
	}
	set, err := Read(ctx, o.Traces, read)
	if err != nil {
		return nil, cfg.Places.Explain("", err)
	}
	if before != nil && before.Digest != set.About().Digest {
		return nil, differs(o.Resume, set.Index())
	}
	if err := compares(cfg, set); err != nil {
		return nil, cfg.Places.Explain("", err)
	}
	chosen := *Of(cfg)
	chosen.Choices = set.Choices()
	cfg.Traces = &chosen
	opts = append(opts, merit.WithRecordings(set.Recordings(cfg)))
	if recorded {
		opts = append(opts, merit.WithScorer(Recorded{Played: reward.Environment{}}, 1))
	}
	return merit.Open(ctx, cfg, opts...)
}

// begun returns the traces of the run in dir; nil if it has not begun.
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

// differs names traces that are not what the run in dir began with.
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
			names = append(names, line.Trace+" is gone")
		}
	}
	const most = 5
	what := strings.Join(names[:min(most, len(names))], ", ")
	if n := len(names) - most; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Differs, Where: dir, What: "the traces are not those that the run began with: " + what,
		Hint: "bring them back (merit traces import), or start a new run in another directory",
	}
}

// absolute are the estimators that compare with more than a task's own traces.
var absolute = []string{"reinforce_pp", "gae"}

// compares is an error if nothing would be learnt, because every task was done
// once and the estimator compares inside of tasks.
func compares(cfg *merit.Config, set *Set) error {
	if !set.Alone() || cfg.Advantage.Singleton != "zero" || slices.Contains(absolute, cfg.Advantage.Estimator) {
		return nil
	}
	return wrong(fault.Invalid, "advantage.estimator",
		fmt.Sprintf("%s compares the traces of a task with each other, and every task has only one", cfg.Advantage.Estimator),
		"record several traces of a task (the same task or metadata.group), or choose reinforce_pp, which compares over the whole batch")
}

func wrong(kind fault.Kind, where, what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: kind, Where: where, What: what, Hint: hint}
}
