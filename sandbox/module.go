package sandbox

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// Module is a loaded reward. It implements reward.Scorer and
// reward.GroupScorer and is safe for concurrent use: it has up to
// Config.Workers instances, and every evaluation starts from the same state.
// More than that wait for their turn.
type Module struct {
	runtime  *Runtime
	program  *engine.Program
	profile  profile
	manifest Manifest
	info     reward.Info
	pool     *pool
	origin   *origin // nil unless instances begin with a snapshot
	cold     bool    // warming up failed: instances start without it
	remote   *remote // with isolation: process, in place of program and pool
	script   bool    // an interpreter runs it
	peak     atomic.Uint32
	// described is set once the first instance of a script has said what it is.
	described bool
}

var _ reward.GroupScorer = (*Module)(nil)

// Info implements reward.Scorer.
func (m *Module) Info() reward.Info { return m.info }

// Manifest returns what the module says about itself.
func (m *Module) Manifest() Manifest { return m.manifest }

// Cached reports whether the native code came from the cache on disk.
func (m *Module) Cached() bool { return m.remote == nil && m.program.Cached }

// PeakMemory returns the largest linear memory in bytes that an evaluation in
// this process has ended with; memories never shrink while one runs. It is 0
// with isolation: process.
func (m *Module) PeakMemory() int { return int(m.peak.Load()) }

func (m *Module) notePeak(size uint32) {
	for before := m.peak.Load(); size > before; before = m.peak.Load() {
		if m.peak.CompareAndSwap(before, size) {
			return
		}
	}
}

// Isolation returns the mode in force: a module whose state a snapshot cannot
// hold, because it changes tables, is always fresh.
func (m *Module) Isolation() Isolation { return m.isolation() }

func (m *Module) isolation() Isolation {
	if i := m.runtime.config.Isolation; i != Snapshot || m.program.Restorable() {
		return i
	}
	return Fresh
}

// Evaluate implements reward.Scorer. A group reward sees a group of one.
func (m *Module) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	return m.evaluate(ctx, t, nil)
}

// EvaluateGroup implements reward.GroupScorer. A reward that does not compare
// scores the members one by one. The fuel of a group is split evenly.
func (m *Module) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) []reward.Evaluation {
	results := make([]reward.Evaluation, len(members))
	if !m.info.Group {
		for i, t := range members {
			results[i] = m.Evaluate(ctx, t)
		}
		return results
	}
	if len(members) == 0 {
		return results
	}
	if m.remote != nil {
		return m.remote.evaluate(ctx, members, nil)
	}
	start := time.Now()
	w, err := m.pool.get(ctx)
	if err != nil {
		for i := range results {
			results[i] = failed(infrastructure(err), start)
		}
		return results
	}
	fuel, v, spoilt := w.run(ctx, members, nil)
	for i := range results {
		results[i] = w.result(i, v)
	}
	share(results, fuel, start)
	m.pool.put(w, spoilt)
	return results
}

// share splits the fuel of a group over its members.
func share(results []reward.Evaluation, fuel uint64, start time.Time) {
	n := uint64(len(results))
	for i := range results {
		results[i].Fuel, results[i].Elapsed = fuel/n, time.Since(start)
		if uint64(i) < fuel%n {
			results[i].Fuel++
		}
	}
}

func failed(v *verdict, start time.Time) reward.Evaluation {
	return reward.Evaluation{Outcome: v.outcome, Reason: v.reason, Elapsed: time.Since(start)}
}

// result builds the evaluation of member i after run.
func (w *worker) result(i int, v *verdict) reward.Evaluation {
	log := escape(string(w.collector.log))
	if v != nil {
		return reward.Evaluation{Outcome: v.outcome, Reason: v.reason, Log: log}
	}
	return w.collector.evaluation(i, log)
}

// run evaluates members from the worker's present state. Input is nil unless
// they are encoded already. A spoilt worker must not be used again.
func (w *worker) run(ctx context.Context, members []*rl.Trajectory, input []byte) (fuel uint64, v *verdict, spoilt bool) {
	w.collector.start(members, w.module.info.Group)
	limit := w.module.runtime.config.InputMiB << 20
	if input == nil {
		var err error
		if input, err = w.session.input(members); err != nil {
			return 0, badInput(err), false
		}
	}
	if len(input) > limit {
		return 0, badInput(&abi.TooLarge{Limit: limit}), false
	}
	w.instance.Begin(ctx, w.module.budget(len(input), len(members)))
	v, stop := w.session.evaluate(input)
	fuel, late := w.instance.End()
	w.module.notePeak(w.instance.Size())
	if late != nil {
		stop = late
	}
	if stop != nil {
		return fuel, stopped(stop, w.instance.MemoryDenied()), true
	}
	return fuel, v, false
}

func badInput(err error) *verdict {
	var large *abi.TooLarge
	if errors.As(err, &large) {
		return &verdict{reward.Infrastructure, err.Error() + " (limits.input_mib)"}
	}
	return asVerdict(err)
}

const (
	inputStep  = 128 << 10 // input that the plain budget is for, in bytes
	inputScale = 16
)

// budget is what an evaluation may use.
func (m *Module) budget(input, members int) engine.Budget {
	l := &m.runtime.config.Limits
	fuel := l.Fuel * uint64(max(members, 1))
	if input > inputStep*max(members, 1) {
		fuel = min(l.Fuel/inputStep*uint64(input), fuel*inputScale)
	}
	return engine.Budget{Fuel: fuel, Depth: uint64(l.CallDepth), Wall: l.WallClock}
}

// newWorker makes an instance in the state in which every evaluation begins.
func (m *Module) newWorker(ctx context.Context) (*worker, error) {
	limits := m.runtime.config.Limits
	i, err := m.program.Instantiate(ctx, uint64(limits.MemoryMiB)<<20)
	if err != nil {
		return nil, err
	}
	w := &worker{module: m, instance: i, collector: newCollector(limits, m.info.StepIndexing)}
	i.Host = w.collector
	w.session = m.profile.open(i, w.collector, limits)
	if err := w.begin(ctx); err != nil {
		i.Close()
		return nil, err
	}
	return w, nil
}

// Close frees the module. No evaluation may be running.
func (m *Module) Close(ctx context.Context) {
	m.runtime.mu.Lock()
	_, open := m.runtime.modules[m]
	delete(m.runtime.modules, m)
	m.runtime.mu.Unlock()
	if open {
		m.free(ctx)
	}
}

func (m *Module) free(ctx context.Context) {
	if m.remote != nil {
		m.remote.fleet.remove(m.remote.number)
		return
	}
	m.pool.free()
	if m.origin != nil {
		m.origin.state.Close()
	}
	m.program.Close(ctx)
}

// try makes the first worker, and with it the origin of all others, so that a
// module that cannot start is refused when it is loaded.
func (m *Module) try(ctx context.Context) error {
	w, err := m.pool.get(ctx)
	if errors.Is(err, errCold) {
		m.cold = true
		w, err = m.pool.get(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Interrupted, Where: m.info.Name, What: "loading was stopped", Err: ctx.Err()}
		}
		return refusal(m.info.Name, "the reward cannot be started", "the message comes from the reward itself: correct it there", err)
	}
	m.pool.put(w, false)
	return nil
}
