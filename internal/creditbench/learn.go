package creditbench

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/keptgraph"
)

// Settings of the training: a table of preferences, one for each view and action, without a
// network, a clip or an entropy term. They are the same for all estimators.
const (
	episodesOfABatch = 64
	learningRate     = 4.0
	budget           = 30_000 // environment steps
)

// Learned is the chance of a success while a policy trains.
type Learned struct {
	Area float64 `json:"area"` // mean over the budget of steps
	Last float64 `json:"last"` // at its end
}

// learn trains a policy that begins with equal preferences. Successes are computed, not
// sampled, so they have no noise.
func (w *World) learn(ctx context.Context, e Estimator, members int, r *rand.Rand) (Learned, error) {
	table := map[string][]float64{}
	p := Policy{}
	views := w.views()
	for _, key := range views {
		table[key] = make([]float64, w.Actions)
		p[key] = softmax(table[key])
	}
	var out Learned
	var result advantage.Result
	kept := keptgraph.New(e.Config)
	exact := w.Solve(p)
	for steps := 0; steps < budget; {
		played := e.plays(w, p, exact, members, r)
		kept.Reach(&played.rows, nil)
		advantages, err := e.estimate(ctx, &played.rows, &result)
		if err != nil {
			return out, err
		}
		kept.Add(&played.rows, nil)
		learned, advantages, n := played.learned(advantages, &result)
		w.update(table, p, learned, advantages, views)
		n = min(n, budget-steps)
		before := w.Success(exact)
		exact = w.Solve(p)
		out.Last = w.Success(exact)
		out.Area += float64(n) / budget * (before + out.Last) / 2
		steps += n
	}
	return out, nil
}

// update takes one step along the policy gradient of the batch, with advantages scaled to a
// root mean square of 1.
func (w *World) update(table map[string][]float64, p Policy, played *episodes, advantages []float64, views []string) {
	power := 0.0
	for _, a := range advantages {
		power += a * a
	}
	if power == 0 {
		return
	}
	rate := learningRate / math.Sqrt(power*float64(len(advantages)))
	gradient := map[string][]float64{}
	for i, a := range advantages {
		key := w.keys[played.visits[i].state]
		g := gradient[key]
		if g == nil {
			g = make([]float64, w.Actions)
			gradient[key] = g
		}
		for other, q := range p[key] {
			g[other] -= a * q
		}
		g[played.visits[i].action] += a
	}
	for _, key := range views {
		for a, g := range gradient[key] {
			table[key][a] += rate * g
		}
		p[key] = softmax(table[key])
	}
}
