package local

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// Module is a loaded reward.
type Module struct {
	backend  *Backend
	bytes    engine.Module
	script   bool            // an interpreter runs it
	process  engine.Process  // what it finds around it
	profile  profile.Profile // nil until the gate has seen the exports
	nested   profile.Nested  // how its workers answer, if they are programs that rewards open
	program  *engine.Program
	manifest abi.Manifest
	info     reward.Info
	pool     pool
	origin   *origin // nil unless instances begin with a snapshot
	cold     bool    // warming up failed: instances start without it
	peak     atomic.Uint32
	// described is set once the first instance has said what it is.
	described bool
}

func (b *Backend) newModule(s source.Source) *Module {
	m := &Module{backend: b, info: reward.Info{Name: s.Name, Digest: s.Digest}}
	m.pool.module, m.pool.tokens = m, b.tokens
	if s.Script == nil {
		m.process = engine.Process{Files: noFiles}
		m.bytes = engine.Module{Title: s.Name, Digest: strings.TrimPrefix(s.Digest, "sha256:"), Read: func() ([]byte, error) { return s.Wasm, nil }}
		return m
	}
	language := s.Script.Language
	m.info.Function, m.info.With = s.Script.Function, s.Script.With
	m.script, m.bytes = true, b.interpreter(language.Interpreter())
	m.profile, m.process = language.Open(s.Script)
	return m
}

// noFiles is an empty root folder, which compiled rewards find: without any, the
// C library and Rust's refuse a path by themselves, and nobody could count that.
var noFiles = engine.NewFiles(nil)

// Info is what reward.Scorer says of it.
func (m *Module) Info() reward.Info { return m.info }

// Manifest is what the module says about itself.
func (m *Module) Manifest() abi.Manifest { return m.manifest }

// Cached reports whether the native code came from the cache on disk.
func (m *Module) Cached() bool { return m.program.Cached }

// PeakMemory is the largest linear memory in bytes that an evaluation has
// ended with.
func (m *Module) PeakMemory() int { return int(m.peak.Load()) }

func (m *Module) notePeak(size uint32) {
	for before := m.peak.Load(); size > before; before = m.peak.Load() {
		if m.peak.CompareAndSwap(before, size) {
			return
		}
	}
}

// Fresh reports whether every evaluation has a new instance.
func (m *Module) Fresh() bool { return m.isolation() == Fresh }

// isolation is the mode in force: a module whose state a snapshot cannot hold,
// because it changes tables, is always fresh. What rewards open beside
// themselves begins with a snapshot in every mode: it runs what nobody trusts,
// and is started in the midst of an evaluation.
func (m *Module) isolation() Isolation {
	i := m.backend.options.Isolation
	if m.nested != nil {
		i = Snapshot
	}
	if i == Snapshot && !m.program.Restorable() {
		return Fresh
	}
	return i
}

// Evaluate evaluates one trajectory. Input is nil unless it is encoded already.
func (m *Module) Evaluate(ctx context.Context, t *rl.Trajectory, input []byte) reward.Evaluation {
	start := time.Now()
	p := m.perform(ctx, t, nil, input)
	e := p.result(0)
	e.Fuel, e.Elapsed = p.fuel, time.Since(start)
	if p.worker != nil {
		p.worker.one[0] = nil
	}
	p.done()
	return e
}

// performed is what a worker came to.
type performed struct {
	worker  *worker         // nil if there was none
	verdict *result.Verdict // nil if every member has a result
	fuel    uint64
	spoilt  bool
	wanted  string // what a backend that is detached would have to offer
}

// result is the evaluation of member i.
func (p *performed) result(i int) reward.Evaluation {
	if p.worker == nil {
		return p.verdict.Evaluation("")
	}
	return p.worker.result(i, p.verdict)
}

// done gives the worker back.
func (p *performed) done() {
	if p.worker != nil {
		p.worker.module.pool.put(p.worker, p.spoilt)
	}
}

// perform has a worker evaluate one trajectory or, if that is nil, members. A
// reward that wants to open a program of a language that has not been loaded yet
// starts anew when it has: the clock of an evaluation does not run while an
// interpreter is compiled and starts.
func (m *Module) perform(ctx context.Context, one *rl.Trajectory, members []*rl.Trajectory, input []byte) performed {
	for {
		w, err := m.pool.get(ctx)
		if err != nil {
			return performed{verdict: result.Infrastructure(err)}
		}
		if one != nil {
			w.one[0] = one
			members = w.one[:]
		}
		p := performed{worker: w}
		p.fuel, p.verdict, p.spoilt = w.run(ctx, members, input)
		if p.wanted = w.wanted(); p.wanted == "" {
			return p
		}
		m.pool.put(w, true)
		if m.backend.detached {
			return performed{wanted: p.wanted}
		}
		if err := m.backend.Offer(ctx, p.wanted); err != nil {
			return performed{verdict: result.Infrastructure(err)}
		}
	}
}

// EvaluateGroup evaluates the members of a group, of which there is at least
// one, and splits the fuel evenly.
func (m *Module) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) (results []reward.Evaluation) {
	start := time.Now()
	m.Answer(ctx, members, nil, func(said []reward.Evaluation, fuel uint64) {
		result.Share(said, fuel, start)
		results = said
	})
	return results
}

// Answer evaluates some members at one time and calls answer with the results
// and the fuel of them all, before the instance is restored. Input is nil
// unless they are encoded already. A backend that is detached does not call it
// if the reward wants to open a program of a language that was not offered, and
// returns that.
func (m *Module) Answer(ctx context.Context, members []*rl.Trajectory, input []byte, answer func(results []reward.Evaluation, fuel uint64)) (wanted string) {
	p := m.perform(ctx, nil, members, input)
	if p.wanted != "" {
		return p.wanted
	}
	results := make([]reward.Evaluation, len(members))
	for i := range results {
		results[i] = p.result(i)
	}
	answer(results, p.fuel)
	p.done()
	return ""
}

// Detached reports whether its input can be written by who does not have the
// instance.
func (m *Module) Detached() bool {
	_, ok := m.profile.(profile.Detached)
	return ok
}

// Close frees the module. No evaluation may be running.
func (m *Module) Close(ctx context.Context) {
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
	switch {
	case err == nil:
		m.pool.put(w, false)
		return nil
	case ctx.Err() != nil:
		return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Interrupted, Where: m.info.Name, What: "loading was stopped", Err: ctx.Err()}
	}
	hint := "the message comes from the reward itself: correct it there"
	if u := (*unstarted)(nil); errors.As(err, &u) {
		hint = u.hint
	}
	return source.Refusal(m.info.Name, "the reward cannot be started", hint, err)
}
