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
	// described is set once the first instance of a script has said what it is.
	described bool
}

func (b *Backend) newModule(s source.Source) *Module {
	m := &Module{backend: b, info: reward.Info{Name: s.Name, Digest: s.Digest}}
	m.pool.module, m.pool.tokens = m, b.tokens
	if s.Script == nil {
		m.bytes = engine.Module{Digest: strings.TrimPrefix(s.Digest, "sha256:"), Read: func() ([]byte, error) { return s.Wasm, nil }}
		return m
	}
	language := s.Script.Language
	m.info.Function, m.info.With = s.Script.Function, s.Script.With
	m.script, m.bytes = true, b.interpreter(language.Interpreter())
	m.profile, m.process = language.Open(s.Script)
	return m
}

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
func (m *Module) Evaluate(ctx context.Context, t *rl.Trajectory, input []byte) (e reward.Evaluation) {
	start := time.Now()
	w, fuel, v, spoilt := m.perform(ctx, t, nil, input)
	if w == nil {
		e = v.Evaluation("")
	} else {
		e = w.result(0, v)
		w.one[0] = nil
		m.pool.put(w, spoilt)
	}
	e.Fuel, e.Elapsed = fuel, time.Since(start)
	return e
}

// perform has a worker evaluate one trajectory or, if that is nil, members.
// Without a worker there is a verdict. A reward that wants to open a program of a
// language that has not been loaded yet starts anew when it has: the clock of
// an evaluation does not run while an interpreter is compiled and starts.
func (m *Module) perform(ctx context.Context, one *rl.Trajectory, members []*rl.Trajectory, input []byte) (w *worker, fuel uint64, v *result.Verdict, spoilt bool) {
	for {
		w, err := m.pool.get(ctx)
		if err != nil {
			return nil, 0, result.Infrastructure(err), false
		}
		if one != nil {
			w.one[0] = one
			members = w.one[:]
		}
		fuel, v, spoilt = w.run(ctx, members, input)
		wanted := w.wanted()
		if wanted == "" {
			return w, fuel, v, spoilt
		}
		m.pool.put(w, true)
		if err := m.backend.Offer(ctx, wanted); err != nil {
			return nil, 0, result.Infrastructure(err), false
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
// unless they are encoded already.
func (m *Module) Answer(ctx context.Context, members []*rl.Trajectory, input []byte, answer func(results []reward.Evaluation, fuel uint64)) {
	results := make([]reward.Evaluation, len(members))
	w, fuel, v, spoilt := m.perform(ctx, nil, members, input)
	for i := range results {
		if w == nil {
			results[i] = v.Evaluation("")
		} else {
			results[i] = w.result(i, v)
		}
	}
	answer(results, fuel)
	if w != nil {
		m.pool.put(w, spoilt)
	}
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
