package creditbench

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
)

// visit is a step of an episode: where it was taken, and what it chose.
type visit struct{ step, state, action int }

// episodes are groups of episodes as rows, with the exact advantage of each row.
type episodes struct {
	rows   advantage.Rows
	visits []visit
	exact  []float64
}

// random returns a policy with random preferences.
func (w *World) random(r *rand.Rand) Policy {
	p := Policy{}
	for _, key := range w.views() {
		x := make([]float64, w.Actions)
		for a := range x {
			x[a] = r.NormFloat64()
		}
		p[key] = softmax(x)
	}
	return p
}

// softmax returns the probabilities of preferences.
func softmax(x []float64) []float64 {
	out, sum, most := make([]float64, len(x)), 0.0, math.Inf(-1)
	for _, v := range x {
		most = max(most, v)
	}
	for i, v := range x {
		out[i] = math.Exp(v - most)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// sample plays groups of members from the same start. The critic is exact: its values are the
// chances of a success.
func (w *World) sample(p Policy, e *Exact, groups, members int, r *rand.Rand) *episodes {
	out := new(episodes)
	for g := range groups {
		start := w.starts[r.IntN(len(w.starts))]
		for m := range members {
			w.play(out, int32(g), int32(g*members+m), start, p, e, r)
		}
		w.compare(out, start, p, e, uint64(g))
	}
	score := out.rows.AddReward("score", 1)
	copy(score, out.rows.Score)
	return out
}

// compare gives the rows of the last group a role, which is the same for all, and the score of
// a greedy episode from the same start.
func (w *World) compare(out *episodes, start int, p Policy, e *Exact, group uint64) {
	greedy := Policy{}
	for key, chances := range p {
		greedy[key] = make([]float64, len(chances))
		greedy[key][slices.Index(chances, slices.Max(chances))] = 1
	}
	alone := new(episodes)
	w.play(alone, 0, 0, start, greedy, e, rand.New(rand.NewPCG(uint64(out.rows.Len()), group)))
	for len(out.rows.Role) < out.rows.Len() {
		out.rows.Role, out.rows.Greedy = append(out.rows.Role, "agent"), append(out.rows.Greedy, alone.rows.Score[0])
	}
}

// play adds one episode.
func (w *World) play(out *episodes, group, trajectory int32, state int, p Policy, e *Exact, r *rand.Rand) {
	rows, first := &out.rows, out.rows.Len()
	for t := 0; t < w.Horizon && state >= 0; t++ {
		a := draw(p[w.keys[state]], r)
		out.visits = append(out.visits, visit{t, state, a})
		out.exact = append(out.exact, e.Advantage(t, state, a))
		rows.Group, rows.Trajectory, rows.Step = append(rows.Group, group), append(rows.Trajectory, trajectory), append(rows.Step, int32(t))
		rows.Anchor, rows.Value = append(rows.Anchor, w.keys[state]), append(rows.Value, e.value[t][state])
		rows.Reward, rows.Terminated, rows.Truncated = append(rows.Reward, 0), append(rows.Terminated, false), append(rows.Truncated, false)
		state = follow(w.moves[state][a], r)
	}
	last := rows.Len() - 1
	score := 0.0
	if state == won {
		score = 1
	}
	rows.Reward[last], rows.Terminated[last], rows.Truncated[last] = score, state < 0, state >= 0
	for range rows.Len() - first {
		rows.Score = append(rows.Score, score)
	}
}

func draw(p []float64, r *rand.Rand) int {
	x := r.Float64()
	for a, q := range p {
		if x -= q; x < 0 {
			return a
		}
	}
	return len(p) - 1
}

func follow(chances []chance, r *rand.Rand) int {
	if len(chances) == 1 {
		return chances[0].next
	}
	x := r.Float64()
	for _, c := range chances {
		if x -= c.p; x < 0 {
			return c.next
		}
	}
	return chances[len(chances)-1].next
}
