package sandbox

import (
	"context"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
)

// EvaluateEach scores one trajectory with several modules, which may belong to
// several runtimes, and encodes it once for all of them. The evaluations are
// those of Module.Evaluate, in order.
func EvaluateEach(ctx context.Context, modules []*Module, t *rl.Trajectory) []reward.Evaluation {
	results := make([]reward.Evaluation, len(modules))
	shared := encoders.Get().(*abi.Encoder)
	defer encoders.Put(shared)
	var input []byte
	for i, m := range modules {
		f, ok := m.profile.(flat)
		if !ok || f.group() {
			results[i] = m.Evaluate(ctx, t)
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
