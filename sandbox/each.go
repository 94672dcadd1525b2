package sandbox

import (
	"context"
	"sync"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
)

var _ reward.SharedScorer = (*Module)(nil)

// EvaluateEach implements reward.SharedScorer. It encodes the trajectory once
// for all modules among scorers, which may belong to several runtimes.
func (*Module) EvaluateEach(ctx context.Context, scorers []reward.Scorer, t *rl.Trajectory) []reward.Evaluation {
	results := make([]reward.Evaluation, len(scorers))
	shared := encoders.Get().(*abi.Encoder)
	defer encoders.Put(shared)
	var input []byte
	for i, scorer := range scorers {
		m, ok := scorer.(*Module)
		if !ok || !m.readsFlat() {
			results[i] = scorer.Evaluate(ctx, t)
			continue
		}
		if input == nil {
			var err error
			if input, err = shared.Trajectory(t); err != nil {
				results[i] = m.Evaluate(ctx, t) // its reason names the limit
				continue
			}
		}
		results[i] = m.guest.Evaluate(ctx, t, input)
	}
	return results
}

// encoders have only the limit of the format. Each module checks its own limit.
var encoders = sync.Pool{New: func() any { return abi.NewEncoder(1 << 30) }}
