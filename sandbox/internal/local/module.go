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
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Module is a loaded reward.
type Module struct {
	backend  *Backend
	bytes    engine.Module
	script   bool // whether an interpreter runs it
	by       interpreter.Interpreter
	asks     bool            // it may ask a language model
	process  engine.Process  // the process environment of its instances
	profile  profile.Profile // nil until the gate has read the exports
	nested   profile.Nested  // how its workers answer, if they are programs that rewards open
	program  *engine.Program
	manifest abi.Manifest
	info     reward.Info
	pool     pool
	origin   *origin // nil unless instances start from a snapshot
	cold     bool    // warm-up failed; instances start without it
	peak     atomic.Uint32
	// described is set once the first instance has described itself.
	described bool
}

func (b *Backend) newModule(s source.Source) *Module {
	m := &Module{backend: b, asks: s.Asks, info: reward.Info{Name: s.Name, Digest: s.Digest}}
	m.pool.module, m.pool.tokens = m, b.tokens
	if s.Script == nil {
		m.process = engine.Process{Files: noFiles}
		m.bytes = engine.Module{Title: s.Name, Digest: strings.TrimPrefix(s.Digest, "sha256:"), Read: func() ([]byte, error) { return s.Wasm, nil }}
		return m
	}
	language := s.Script.Language
	m.info.Function, m.info.With = s.Script.Function, s.Script.With
	m.script, m.by = true, language.Interpreter()
	m.bytes = b.interpreter(m.by)
	m.profile, m.process = language.Open(s.Script)
	return m
}

// noFiles is an empty root folder for compiled rewards. Without it, the
// libraries of C and Rust would reject a path themselves, and the refusal could
// not be counted.
var noFiles = engine.NewFiles(nil)

// Info implements reward.Scorer.
func (m *Module) Info() reward.Info { return m.info }

// Manifest returns the module's description of itself.
func (m *Module) Manifest() abi.Manifest { return m.manifest }

// Cached reports whether the native code came from the cache on disk.
func (m *Module) Cached() bool { return m.program.Cached }

// PeakMemory returns the largest linear memory, in bytes, at the end of an
// evaluation.
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

// isolation returns the mode in force. A module that changes tables, which a
// snapshot cannot hold, is always Fresh. Programs that rewards open always
// start from a snapshot, because they run untrusted code and start during an
// evaluation.
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

// Evaluate evaluates one trajectory. input is nil unless t is already encoded.
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

// performed is the result of a worker's evaluation.
type performed struct {
	worker  *worker         // nil if there was none
	verdict *result.Verdict // nil if every member has a result
	fuel    uint64
	spoilt  bool
	wanted  string // the language that a detached backend would need to offer
}

// result returns the evaluation of member i.
func (p *performed) result(i int) reward.Evaluation {
	if p.worker == nil {
		return p.verdict.Evaluation("")
	}
	return p.worker.result(i, p.verdict)
}

// done returns the worker to the pool.
func (p *performed) done() {
	if p.worker != nil {
		p.worker.module.pool.put(p.worker, p.spoilt)
	}
}

// perform lets a worker evaluate one trajectory or, if that is nil, members. If
// a reward opens a program in a language that is not loaded, perform loads it
// and starts the evaluation again, so that the wall clock of the evaluation
// does not include it.
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

// EvaluateGroup evaluates the members of a group, of which there must be at
// least one. It splits the fuel evenly.
func (m *Module) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) (results []reward.Evaluation) {
	start := time.Now()
	m.Answer(ctx, members, nil, func(said []reward.Evaluation, fuel uint64) {
		result.Share(said, fuel, start)
		results = said
	})
	return results
}

// Answer evaluates members together and calls answer with the results and their
// total fuel before it restores the instance. input is nil unless members are
// already encoded. If the reward opens a program in a language that a detached
// backend does not offer, Answer does not call answer and returns the language.
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

// Detached reports whether the input can be encoded without the instance.
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
// module that cannot start is rejected when it is loaded.
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
	hint := "correct the reward: the message comes from it"
	if u := (*unstarted)(nil); errors.As(err, &u) {
		hint = u.hint
	}
	return source.Refusal(m.info.Name, "the reward cannot be started", hint, err)
}
