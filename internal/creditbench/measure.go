package creditbench

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/keptgraph"
)

// Quality is how well an estimator's advantages agree with the exact ones, under one random
// policy.
type Quality struct {
	Sign  float64 `json:"sign"`  // share of the steps with the right sign; no credit counts as half
	Rank  float64 `json:"rank"`  // Spearman's correlation over the steps
	Bias  float64 `json:"bias"`  // what more episodes do not remove, relative to the exact advantages; 0 is best, none if the estimates do not rise with them
	Noise float64 `json:"noise"` // what more episodes remove, in the same way
}

// batches is how many batches a policy plays, so that the same step is estimated several times.
const batches = 8

// still is the largest advantage that counts as none.
const still = 1e-9

// measure compares estimates with exact advantages. The result of an estimator that fails is
// its error.
func (w *World) measure(ctx context.Context, estimators []Estimator, members int, r *rand.Rand) ([]Quality, error) {
	p := w.random(r)
	exact := w.Solve(p)
	all := make([]tally, len(estimators))
	var result advantage.Result
	kept := make([]*keptgraph.Graph, len(estimators))
	for i, e := range estimators {
		kept[i] = keptgraph.New(e.Config)
	}
	for batch := range batches {
		played := w.sample(p, exact, max(1, episodesOfABatch/members), members, r)
		for i, e := range estimators {
			played := played
			if e.Branches != nil { // its own randomness, of the policy, so that it changes nothing for the others
				of := math.Float64bits(exact.value[0][w.starts[0]])
				played = e.plays(w, p, exact, members, rand.New(rand.NewPCG(of, uint64(batch))))
			}
			kept[i].Reach(&played.rows, nil)
			found, err := e.estimate(ctx, &played.rows, &result)
			if err != nil {
				return nil, err
			}
			kept[i].Add(&played.rows, nil)
			learned, found, _ := played.learned(found, &result)
			all[i].add(learned, found)
		}
	}
	out := make([]Quality, len(estimators))
	for i := range all {
		out[i] = all[i].quality()
	}
	return out, nil
}

// tally collects estimates.
type tally struct {
	right, steps   float64 // of the signs
	found, exact   []float64
	product, power float64 // sums of found·exact and exact²
	size           float64 // sum of found²
	cells          map[visit]*cell
	order          []visit // of the cells, so that sums are the same every time
}

// cell is the estimates of one action at one step in one state.
type cell struct{ n, exact, sum, squares float64 }

func (t *tally) add(played *episodes, found []float64) {
	if t.cells == nil {
		t.cells = map[visit]*cell{}
	}
	for i, a := range played.exact {
		f := found[i]
		t.found, t.exact = append(t.found, f), append(t.exact, a)
		t.product, t.power, t.size = t.product+f*a, t.power+a*a, t.size+f*f
		t.sign(f, a)
		c := t.cells[played.visits[i]]
		if c == nil {
			c = &cell{exact: a}
			t.cells[played.visits[i]], t.order = c, append(t.order, played.visits[i])
		}
		c.n, c.sum, c.squares = c.n+1, c.sum+f, c.squares+f*f
	}
}

// sign counts whether a step with an exact advantage got its sign.
func (t *tally) sign(found, exact float64) {
	if math.Abs(exact) < still {
		return
	}
	t.steps++
	switch {
	case math.Abs(found) < still:
		t.right += 0.5
	case (found > 0) == (exact > 0):
		t.right++
	}
}

// none is the bias and noise of estimates that do not rise with the exact advantages at all.
var none = math.NaN()

// quality fits found = scale · exact, because only the direction of a gradient matters, and
// splits what is left into the errors of cells and the noise inside them.
func (t *tally) quality() Quality {
	q := Quality{Sign: t.right / max(t.steps, 1)}
	q.Rank, _ = stats.Spearman(t.found, t.exact)
	scale := t.product / max(t.power, math.SmallestNonzeroFloat64)
	if t.product <= still*math.Sqrt(t.power*t.size) { // also what only rounding makes positive
		q.Bias, q.Noise = none, none
		return q
	}
	for _, v := range t.order {
		c := t.cells[v]
		mean := c.sum / c.n
		if c.n < 2 {
			continue
		}
		variance := max(0, (c.squares-c.n*mean*mean)/(c.n-1))
		miss := mean - scale*c.exact
		q.Bias += c.n*miss*miss - variance // the mean of n estimates is off by variance/n by chance
		q.Noise += c.n * variance
	}
	power := scale * scale * t.power
	q.Bias, q.Noise = math.Sqrt(max(0, q.Bias)/power), math.Sqrt(q.Noise/power)
	return q
}
