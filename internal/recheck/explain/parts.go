package explain

import (
	"math"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
)

// Level is one of the nested groups of hgpo: the steps with the same last Observations states
// as this step. Level 0 is the whole group, by scores.
type Level struct {
	Term
	Observations int     `json:"observations"`
	Weight       float64 `json:"weight"` // 0 = the level does not count: its values are all equal, or the step has fewer states before it
}

// levels returns the parts whose weighted mean is the advantage of hgpo.
func (b *Batch) levels(row int, episode *Term) []Level {
	if b.Config.Estimator != "hgpo" {
		return nil
	}
	n := norm(b.Config)
	n.Singleton = advantage.SingletonZero
	out := []Level{{Term: *episode}}
	if episode.Value != 0 || episode.Varied {
		out[0].Weight = 1
	}
	for j := 1; j <= b.Config.History+1; j++ {
		context := b.contexts(j)
		if context[row] < 0 {
			return append(out, Level{Term: Term{Rule: "too early: the step has fewer states before it", Divisor: 1}, Observations: j})
		}
		s := advantage.Spreads(b.Result.Return, context, nil)[context[row]]
		l := Level{Term: *compared(b.Result.Return[row], s, n, "returns from these states"), Observations: j}
		if s.Varied {
			l.Weight = math.Pow(float64(j+1), b.Config.HistoryExponent)
		}
		out = append(out, l)
	}
	return out
}

// contexts numbers the rows by their group and last j anchor groups; −1 marks rows with fewer
// states.
func (b *Batch) contexts(j int) []int32 {
	at := b.positions()
	out := make([]int32, b.Rows.Len())
	var known [][]int32
	for i := range out {
		out[i] = -1
		if b.member(i) < 0 || int(b.Rows.Step[i])+1 < j {
			continue
		}
		key := make([]int32, 0, j)
		for k := range j {
			key = append(key, b.Result.AnchorGroup[at[place{b.Rows.Trajectory[i], b.Rows.Step[i] - int32(k)}]])
		}
		if slices.Contains(key, -1) {
			continue // a step before has no score
		}
		n := slices.IndexFunc(known, func(k []int32) bool { return slices.Equal(k, key) })
		if n < 0 {
			n = len(known)
			known = append(known, key)
		}
		out[i] = int32(n)
	}
	return out
}

// Delta is one term of a generalized advantage estimate:
// Weight · (Reward + γ·Next − Value). The values are those of the critic for gae, and the mean
// returns of the states for gagpo.
type Delta struct {
	Step   int     `json:"step"`
	Reward float64 `json:"reward"`
	Value  float64 `json:"value"` // of the step's state
	Next   float64 `json:"next"`  // of the next state
	Delta  float64 `json:"delta"`
	Weight float64 `json:"weight"` // (γλ)^k
}

// deltas returns the terms whose sum is the advantage of gae, or A_S of gagpo.
func (b *Batch) deltas(row int) (all []Delta) {
	value := b.Rows.Value
	switch b.Config.Estimator {
	case "gae":
	case "gagpo":
		value = b.Result.Value
	default:
		return nil
	}
	if b.branchesBeneath(row) {
		return nil // a mean over trees of terms
	}
	at, weight := b.positions(), 1.0
	for p := (place{b.Rows.Trajectory[row], b.Rows.Step[row]}); ; p.step++ {
		i, ok := at[p]
		if !ok {
			return all
		}
		d := Delta{Step: int(p.step), Reward: b.Rows.Reward[i], Value: value[i], Weight: weight}
		if next, ok := at[place{p.trajectory, p.step + 1}]; ok {
			d.Next = value[next]
		} else if b.bootstraps(i) {
			d.Next = b.Rows.Bootstrap[i]
		}
		d.Delta = d.Reward + b.Config.Gamma*d.Next - d.Value
		all = append(all, d)
		weight *= b.Config.Gamma * b.Config.Lambda
	}
}

type place struct{ trajectory, step int32 }

// positions maps trajectory and step to the row.
func (b *Batch) positions() map[place]int {
	if b.places == nil {
		b.places = make(map[place]int, b.Rows.Len())
		for i := range b.Rows.Trajectory {
			b.places[place{b.Rows.Trajectory[i], b.Rows.Step[i]}] = i
		}
	}
	return b.places
}

// bootstraps reports whether the critic's estimate replaces the return after row i: only if
// the episode was truncated there and did not end.
func (b *Batch) bootstraps(i int) bool {
	r := &b.Rows
	return r.Bootstrap != nil && r.Truncated != nil && r.Truncated[i] && (r.Terminated == nil || !r.Terminated[i])
}

// returnOf shows how the row's return is computed.
func (b *Batch) returnOf(row int) Return {
	out := Return{Reward: b.Rows.Reward[row], Value: b.Result.Return[row]}
	out.Penalty = b.penalty(row)
	if b.branchesBeneath(row) {
		if b.Config.Gamma > 0 {
			out.Next = (out.Value + out.Penalty - out.Reward) / b.Config.Gamma
		}
		return out
	}
	at := b.positions()
	p := place{b.Rows.Trajectory[row], b.Rows.Step[row] + 1}
	first := p.step
	for ; ; p.step++ {
		if _, ok := at[p]; !ok {
			break
		}
	}
	last := at[place{p.trajectory, p.step - 1}]
	if b.bootstraps(last) {
		out.Next, out.Bootstrap = b.Rows.Bootstrap[last], last == row
	}
	for p.step--; p.step >= first; p.step-- {
		out.Next = b.Rows.Reward[at[p]] + b.Config.Gamma*out.Next
	}
	return out
}
