package rollout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/backoff"
	"github.com/merit-rl/merit/internal/base/cpus"
)

// Open starts an environment for a worker, numbered from 0, at the first use
// and again after a fault. Every environment that it returns has the same
// Spec. The context bounds the start only, not the life of the environment.
type Open func(ctx context.Context, worker int) (env.Env, error)

// Option changes a Collector.
type Option func(*Collector)

// WithLogger makes a collector write every step to log at debug level, and
// restarts at warn level. Where debug is off, steps cost nothing.
func WithLogger(log *slog.Logger) Option {
	return func(c *Collector) { c.log = log }
}

// Collector collects groups with one policy. It keeps its environments open
// between collections; Close ends them.
type Collector struct {
	cfg    Config
	policy policy.Policy
	stop   *regexp.Regexp // nil if there is none
	anchor *regexp.Regexp // nil if there is none
	log    *slog.Logger
	places chan struct{} // for the decisions in progress; nil = all slots decide together

	mu      sync.Mutex // held during a collection
	workers []*worker

	specMu sync.Mutex
	spec   *env.Spec      // of every environment, but for Slots; nil before the first
	parser *action.Parser // of answers of a language model; nil before the first
}

// New returns a collector. No environment is opened before the first
// collection.
func New(cfg Config, open Open, p policy.Policy, options ...Option) (*Collector, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return nil, err
	}
	c := &Collector{cfg: cfg, policy: p, log: slog.New(slog.DiscardHandler)}
	if cfg.StopPattern != "" {
		c.stop = regexp.MustCompile(cfg.StopPattern)
	}
	if cfg.AnchorPattern != "" {
		c.anchor = regexp.MustCompile(cfg.AnchorPattern)
	}
	if cfg.InFlight > 0 {
		c.places = make(chan struct{}, cfg.InFlight)
	}
	for _, o := range options {
		o(c)
	}
	parallel := cfg.Parallel
	if parallel == 0 {
		parallel = cpus.Count()
	}
	for i := range parallel {
		c.workers = append(c.workers, &worker{collector: c, id: i, open: open, budget: backoff.Budget{Config: cfg.Restarts}})
	}
	return c, nil
}

// Collect plays the episodes of a plan and returns its groups in order, each with
// its members in order, and then their branches. An episode that faults destroyed more often than
// Config.Retries is present with rl.StopError and its error; the collection itself
// fails when the policy fails, when an environment breaks its contract or keeps
// failing, or when ctx is done. All goroutines have ended when it returns. Calls
// to onProgress, which may be nil, are serialized.
func (c *Collector) Collect(ctx context.Context, plan Plan, onProgress func(Progress)) ([]*rl.Group, Stats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	if plan.Groups == 0 {
		plan.Groups = c.cfg.Groups
	}
	if plan.Members == 0 {
		plan.Members = c.cfg.Members
	}
	jobs := plan.starts()
	q := newQueue(plan, jobs, len(jobs), c.cfg.Retries, Progress{}, onProgress)
	err := c.play(ctx, q)
	stats := q.stats()
	var groups []*rl.Group
	if err == nil {
		groups = q.groups(c.workers[0].spec.Name)
		err = checkStarts(groups)
	}
	if err == nil && plan.Branch && c.cfg.Branch.On() {
		err = c.grow(ctx, plan, groups, &stats, onProgress)
	}
	stats.Elapsed = time.Since(began)
	if err != nil {
		return nil, stats, err
	}
	return groups, stats, nil
}

// play plays the episodes of q. All goroutines have ended when it returns.
func (c *Collector) play(ctx context.Context, q *queue) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	active := min(len(c.workers), len(q.jobs))
	share := (len(q.jobs) + active - 1) / active
	var wg sync.WaitGroup
	for _, w := range c.workers[:active] {
		wg.Go(func() {
			if err := w.run(ctx, q, share); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Close shuts all environments down. It waits for a running collection.
func (c *Collector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, w := range c.workers {
		errs = append(errs, w.close())
	}
	return errors.Join(errs...)
}

// checkStarts reports a group whose members did not begin alike: advantages
// compare members, and only an identical start makes them comparable.
func checkStarts(groups []*rl.Group) error {
	for _, g := range groups {
		var first *rl.Trajectory
		for _, t := range g.Trajectories {
			if len(t.Steps) == 0 {
				continue
			}
			if first == nil {
				first = t
				continue
			}
			if !sameStart(first, t) {
				return &fault.Error{
					Boundary: fault.Plugin, Kind: fault.Protocol, Where: t.ID,
					What: fmt.Sprintf("the environment began this episode differently from %s, though both have seed %d", first.ID, t.Seed),
					Hint: "make the environment's reset depend on the seed alone",
				}
			}
		}
	}
	return nil
}

func sameStart(a, b *rl.Trajectory) bool {
	x, y := a.Observation(0), b.Observation(0)
	if a.Steps[0].Anchor != b.Steps[0].Anchor || len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Content.Text() != y[i].Content.Text() {
			return false
		}
	}
	return true
}
