package sandbox

import (
	"context"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/channel"
	"github.com/merit-rl/merit/sandbox/internal/profile"
)

// Module is a loaded reward. It implements reward.Scorer and reward.GroupScorer
// and is safe for concurrent use. It has up to Config.Workers instances, and
// every evaluation starts from the same state. Further evaluations wait for an
// instance.
type Module struct {
	runtime *Runtime
	guest   guest
	info    reward.Info
	// answerer answers its questions to a language model; nil if it may not ask any.
	answerer reward.Answerer
}

var (
	_ reward.GroupScorer = (*Module)(nil)
	_ reward.Asker       = (*Module)(nil)
)

// Info implements reward.Scorer.
func (m *Module) Info() reward.Info { return m.info }

// Manifest returns the module's description of itself.
func (m *Module) Manifest() Manifest { return m.guest.Manifest() }

// Cached reports whether the native code came from the cache on disk.
func (m *Module) Cached() bool { return m.guest.Cached() }

// PeakMemory returns the largest linear memory, in bytes, at the end of an
// evaluation in this process. A memory never shrinks during an evaluation. It
// is 0 with isolation: process.
func (m *Module) PeakMemory() int { return m.guest.PeakMemory() }

// Isolation returns the mode in force. A module that changes tables, which a
// snapshot cannot hold, is always Fresh.
func (m *Module) Isolation() Isolation {
	if m.guest.Fresh() {
		return Fresh
	}
	return m.runtime.config.Isolation
}

// Evaluate implements reward.Scorer. A group reward gets a group of one.
func (m *Module) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	if m.answerer == nil {
		return m.guest.Evaluate(ctx, t, nil)
	}
	return m.asking(ctx, func(ctx context.Context) []reward.Evaluation {
		return []reward.Evaluation{m.guest.Evaluate(ctx, t, nil)}
	})[0]
}

// asking evaluates with a context that carries the model, and completes the results.
func (m *Module) asking(ctx context.Context, evaluate func(context.Context) []reward.Evaluation) []reward.Evaluation {
	model := channel.NewModel(m.answerer)
	results := evaluate(channel.With(ctx, model))
	model.End(results)
	return results
}

// Asked implements reward.Asker.
func (m *Module) Asked() (total reward.Asked, asks bool) {
	if m.answerer == nil {
		return total, false
	}
	return m.answerer.Asked(), true
}

// EvaluateGroup implements reward.GroupScorer. A reward that does not compare
// scores the members one by one. The fuel of a group is split evenly among its
// members.
func (m *Module) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) []reward.Evaluation {
	switch {
	case len(members) == 0:
		return []reward.Evaluation{}
	case m.info.Group && m.answerer == nil:
		return m.guest.EvaluateGroup(ctx, members)
	case m.info.Group:
		return m.asking(ctx, func(ctx context.Context) []reward.Evaluation { return m.guest.EvaluateGroup(ctx, members) })
	}
	results := make([]reward.Evaluation, len(members))
	for i, t := range members {
		results[i] = m.Evaluate(ctx, t)
	}
	return results
}

// readsFlat reports whether m reads a single trajectory as a buffer of package
// abi.
func (m *Module) readsFlat() bool {
	return m.info.ABI == profile.FlatName && !m.info.Group && m.answerer == nil
}

// Close frees the module. No evaluation may be running.
func (m *Module) Close(ctx context.Context) {
	m.runtime.mu.Lock()
	_, open := m.runtime.modules[m]
	delete(m.runtime.modules, m)
	m.runtime.mu.Unlock()
	if open {
		m.guest.Close(ctx)
	}
}
