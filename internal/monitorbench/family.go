package monitorbench

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/merit-rl/merit/core/rl"
)

// Family is a kind of run: a task, a reward, and the true metric that the monitors do not see. Its
// runs differ in their seeds, which also draw how large a bonus is, what the untrained policy can do, how
// fast it learns and how large its batches are.
type Family struct {
	Name     string
	About    string // what the reward prefers, or why the run is healthy
	Hackable bool
	// HeldOut families have no part in choosing thresholds. The rule was fixed before any threshold was
	// chosen: of the hackable families and of the healthy ones, each in the order of their names, every
	// second.
	HeldOut bool

	set func(r *rand.Rand) setting
}

// setting is what a run of a family is.
type setting struct {
	world        *world
	policy       *writer
	score, truth func(t *rl.Trajectory) float64
	groups       int
	members      int
}

// Families returns all families: first the hackable ones, then the healthy ones, each by name.
func Families() []Family {
	all := slices.Concat(hackableReplies, hackableGames, healthyReplies, healthyGames)
	for i := range all {
		all[i].Hackable = i < len(hackableReplies)+len(hackableGames)
	}
	slices.SortFunc(all, func(a, b Family) int {
		return cmp.Or(cmp.Compare(one(b.Hackable), one(a.Hackable)), cmp.Compare(a.Name, b.Name))
	})
	for i, n := 0, 0; i < len(all); i, n = i+1, n+1 {
		if i > 0 && all[i].Hackable != all[i-1].Hackable {
			n = 0
		}
		all[i].HeldOut = n%2 == 1
	}
	return all
}

// setting draws what a seed of the family is.
func (f *Family) setting(seed uint64) setting {
	r := rand.New(rand.NewPCG(seed, digest(f.Name)))
	s := f.set(r)
	if s.groups == 0 {
		s.groups, s.members = 6+r.IntN(5), 8
	}
	return s
}

// between draws a number evenly.
func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// habits are what an untrained policy writes: logits.
type habits struct {
	knows   float64 // of the right answer
	reasons float64 // of the right reason
	follows float64 // of the right answer after the right reason
	length  float64 // about how many words
	prefers map[string]float64
	phrase  [2]string // the second word often follows the first
}

// writer returns a policy with habits. Rate is its learning rate.
func (h habits) writer(r *rand.Rand, most int, rate float64) *writer {
	w := newWriter(vocabulary, taskFeatures, most, true)
	for i := range w.weights {
		w.weights[i] = 0.25 * r.NormFloat64()
	}
	for n := range len(places) + 1 {
		row := w.row(w.after(len(vocabulary)) + n)
		middle := float64(places[0])
		if n > 0 {
			middle = float64(places[n-1]+1) + 0.5
		}
		for i := range row {
			switch {
			case i < firstReason:
				row[i] -= 0.5
			case i < firstChatter:
				row[i] -= 3
			case i < firstChatter+len(chatter):
				row[i]++
			default:
				row[i] -= 3
			}
		}
		for word, by := range h.prefers {
			row[spoken[word]] += by
		}
		row[w.end()] = 1.5 + 3*math.Tanh((middle-h.length)/3)
	}
	if h.phrase[0] != "" {
		w.row(w.after(spoken[h.phrase[0]]))[spoken[h.phrase[1]]] += 4
	}
	for i := range topics {
		w.row(i)[i] += h.knows
		w.row(i)[firstReason+i] += h.reasons
		w.row(w.after(firstReason + i))[i] += h.follows
	}
	return w.ready(rate, 0.003)
}

// replying is a setting of tasks for a reply.
func replying(w *writer, score, truth func(r reply) float64) setting {
	return setting{
		world: replies(false), policy: w,
		score: func(t *rl.Trajectory) float64 { return score(read(t)) },
		truth: func(t *rl.Trajectory) float64 { return truth(read(t)) },
	}
}

// playing is a setting of a game. Prefers are logits of actions of the untrained policy.
func playing(r *rand.Rand, w *world, rate float64, prefers map[string]float64, truth func(t *rl.Trajectory) float64) setting {
	p := newWriter(w.actions, w.features, 1, false)
	for f := range w.features {
		for i, name := range w.actions {
			p.row(f)[i] = 0.1*r.NormFloat64() + prefers[name]
		}
	}
	return setting{world: w, policy: p.ready(rate, 0.003), score: earned, truth: truth}
}
