package sandbox

import (
	"context"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
)

var _ reward.SharedScorer = (*Module)(nil)

// EvaluateEach implements reward.SharedScorer: the trajectory is encoded once
// for all modules among scorers, which may belong to several runtimes.
func (*Module) EvaluateEach(ctx context.Context, scorers []reward.Scorer, t *rl.Trajectory) []reward.Evaluation {
	results := make([]reward.Evaluation, len(scorers))
	shared := encoders.Get().(*abi.Encoder)
	defer encoders.Put(shared)
	var input []byte
	for i, scorer := range scorers {
		m, ok := scorer.(*Module)
		if !ok || !m.sharesInput() {
			results[i] = scorer.Evaluate(ctx, t)
			continue
		}
		if input == nil {
			var err error
			if input, err = shared.Trajectory(t); err != nil {
				results[i] = m.Evaluate(ctx, t) // says which limit
				continue
			}
		}
		results[i] = m.evaluate(ctx, t, input)
	}
	return results
}

// sharesInput reports whether m reads a single trajectory in the flat form.
func (m *Module) sharesInput() bool {
	f, ok := m.profile.(flat)
	return ok && !f.group()
}

// encoders have no limit of their own but the format's: a module's is asked
// when it is its turn.
var encoders = sync.Pool{New: func() any { return abi.NewEncoder(1 << 30) }}

// evaluate is Evaluate with an input that may be encoded already.
func (m *Module) evaluate(ctx context.Context, t *rl.Trajectory, input []byte) reward.Evaluation {
	if m.remote != nil {
		return m.remote.evaluate(ctx, []*rl.Trajectory{t}, input)[0]
	}
	start := time.Now()
	w, err := m.pool.get(ctx)
	if err != nil {
		return failed(infrastructure(err), start)
	}
	w.one[0] = t
	fuel, v, spoilt := w.run(ctx, w.one[:], input)
	e := w.result(0, v)
	e.Fuel, e.Elapsed = fuel, time.Since(start)
	w.one[0] = nil
	m.pool.put(w, spoilt)
	return e
}
