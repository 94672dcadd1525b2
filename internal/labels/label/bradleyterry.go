package label

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/merit-rl/merit/core/fault"
)

// Comparison is two items that were compared.
type Comparison struct {
	A, B int     // numbers of items, not the same
	Won  float64 // 1 if A was better, 0 if B was, 0.5 for a tie
}

// Strength is what comparisons say of an item.
type Strength struct {
	// Score is the chance that the item is found better than an average one of
	// those it can be compared with, 0 … 1; Low and High are its 95 % interval.
	Score float64 `json:"score"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// LogOdds is the strength of the model: an item of strength x is better
	// than one of strength y with the chance 1 / (1 + exp(y - x)).
	LogOdds float64 `json:"log_odds"`
	Error   float64 `json:"standard_error"` // of LogOdds
	// Comparisons is how often the item was compared. If it is 0, nothing is
	// known: the other numbers are no scores.
	Comparisons int `json:"comparisons"`
	// Part is the number of the part to which the item belongs: items of two
	// parts were not compared, not even by way of others, and neither can their
	// scores be.
	Part int `json:"part"`
}

// MostItems is how many items one part may have: the time goes with the cube.
const MostItems = 2000

// BradleyTerry gives strengths to items by their comparisons. A tie counts as
// half a win for each.
//
// The strengths are those of the highest posterior density of the model by
// Bradley and Terry (1952) where each item has, beside its comparisons, one tie
// with an average item. Without it an item that always won would be infinitely
// strong; with it, its strength grows with the number of wins. The mean of a
// part's strengths is 0, and intervals, from the curvature, are of the distance
// to it. The same comparisons in the same order give the same
// bytes.
func BradleyTerry(items int, all []Comparison) ([]Strength, error) {
	out := make([]Strength, items)
	for i, c := range all {
		if c.A == c.B || min(c.A, c.B) < 0 || max(c.A, c.B) >= items || !(c.Won >= 0 && c.Won <= 1) {
			panic(fmt.Sprintf("label: comparison %d is of items %d and %d of %d, won %g", i, c.A, c.B, items, c.Won))
		}
		out[c.A].Comparisons++
		out[c.B].Comparisons++
	}
	parts := split(items, all)
	for number, members := range parts {
		if len(members) > MostItems {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Exhausted, Where: "comparisons", What: fmt.Sprintf("%d items were compared with one another, more than %d", len(members), MostItems), Hint: "choose fewer, as by task or by day"}
		}
		for _, i := range members {
			out[i].Part = number
		}
	}
	games := make([][]Comparison, len(parts))
	for _, c := range all {
		games[out[c.A].Part] = append(games[out[c.A].Part], c)
	}
	place := make([]int, items)
	for number, members := range parts {
		for k, i := range members {
			place[i] = k
		}
		p := part{theta: make([]float64, len(members)), games: games[number]}
		for k, g := range p.games {
			p.games[k].A, p.games[k].B = place[g.A], place[g.B]
		}
		errs, err := p.fit()
		if err != nil {
			return nil, err
		}
		for k, i := range members {
			out[i].set(p.theta[k], errs[k])
		}
	}
	return out, nil
}

func (s *Strength) set(theta, err float64) {
	const z = 1.959963984540054 // of 95 %
	s.LogOdds, s.Error = theta, err
	s.Score, s.Low, s.High = chance(theta), chance(theta-z*err), chance(theta+z*err)
}

func chance(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// split returns the items by parts, both in the order of the items.
func split(items int, all []Comparison) [][]int {
	root := make([]int, items)
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, c := range all {
		a, b := find(c.A), find(c.B)
		root[max(a, b)] = min(a, b)
	}
	var parts [][]int
	number := map[int]int{}
	for i := range items {
		r := find(i)
		n, ok := number[r]
		if !ok {
			n = len(parts)
			number[r] = n
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], i)
	}
	return parts
}

// part is items that comparisons join.
type part struct {
	theta []float64
	games []Comparison
}

// fit finds the strengths by Newton's method, which is sure to: the density has
// one peak. It returns their standard errors.
func (p *part) fit() ([]float64, error) {
	n := len(p.theta)
	var curve mat.Cholesky
	for range 100 {
		slope, curvature := p.derivatives()
		if !curve.Factorize(curvature) {
			break
		}
		var step mat.VecDense
		if err := curve.SolveVecTo(&step, mat.NewVecDense(n, slope)); err != nil {
			break
		}
		// Newton's steps from afar may overshoot; halves of them do not.
		before, size := p.density(), 1.0
		start := append([]float64{}, p.theta...)
		for ; size > 1e-12; size /= 2 {
			for i := range p.theta {
				p.theta[i] = start[i] + size*step.AtVec(i)
			}
			if p.density() >= before-1e-12*(1+math.Abs(before)) { // as exact as sums are
				break
			}
		}
		if mat.Norm(&step, math.Inf(1)) < 1e-9 {
			var inverse mat.SymDense
			if err := curve.InverseTo(&inverse); err != nil {
				break
			}
			return p.centre(&inverse), nil
		}
	}
	return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Numeric, Where: "comparisons", What: "no strengths were found that go with them", Hint: "report this with the comparisons"}
}

// centre makes the mean of strengths 0, and returns the errors of what is then
// left: how far the whole part is from 0 says nothing of its members.
func (p *part) centre(covariance mat.Symmetric) []float64 {
	n := len(p.theta)
	rows, all, mean := make([]float64, n), 0.0, 0.0
	for i := range rows {
		for j := range rows {
			rows[i] += covariance.At(i, j) / float64(n)
		}
		all += rows[i] / float64(n)
		mean += p.theta[i] / float64(n)
	}
	errs := make([]float64, n)
	for i := range errs {
		p.theta[i] -= mean
		errs[i] = math.Sqrt(max(0, covariance.At(i, i)-2*rows[i]+all))
	}
	return errs
}

// density is the logarithm of the posterior density.
func (p *part) density() float64 {
	sum := 0.0
	for _, x := range p.theta {
		sum += 0.5 * (logChance(x) + logChance(-x))
	}
	for _, g := range p.games {
		d := p.theta[g.A] - p.theta[g.B]
		sum += g.Won*logChance(d) + (1-g.Won)*logChance(-d)
	}
	return sum
}

// logChance is log(chance(x)), which does not underflow.
func logChance(x float64) float64 {
	if x < 0 {
		return x - math.Log1p(math.Exp(x))
	}
	return -math.Log1p(math.Exp(-x))
}

// derivatives are the density's first ones, and the second ones times -1.
func (p *part) derivatives() ([]float64, *mat.SymDense) {
	n := len(p.theta)
	slope, curvature := make([]float64, n), mat.NewSymDense(n, nil)
	add := func(i, j int, x float64) { curvature.SetSym(i, j, curvature.At(i, j)+x) }
	for i, x := range p.theta {
		c := chance(x)
		slope[i] += 0.5 - c
		add(i, i, c*(1-c))
	}
	for _, g := range p.games {
		c := chance(p.theta[g.A] - p.theta[g.B])
		slope[g.A] += g.Won - c
		slope[g.B] -= g.Won - c
		w := c * (1 - c)
		add(g.A, g.A, w)
		add(g.B, g.B, w)
		add(g.A, g.B, -w)
	}
	return slope, curvature
}
