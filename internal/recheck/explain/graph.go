package explain

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/core/advantage"
)

// Graph is how near the step leads to a success, for the estimators on a graph of states. Those
// that do not compare distances are told the ones of graphgpo.
type Graph struct {
	Known   bool    `json:"known"`             // a way leads from the state to a success; false = Before is one more than the furthest state with one
	Before  int     `json:"before"`            // steps from the state to a success, along steps of any member
	After   int     `json:"after"`             // the same from the next state; 0 = the step succeeded
	Reached bool    `json:"reached"`           // false = no way leads from the next state to a success, and After is one more than the furthest state with one
	Q       float64 `json:"q"`                 // graphgpo: what the step is compared by
	Path    []Hop   `json:"path,omitempty"`    // steps of the shortest way from the next state to a success
	Members int     `json:"members,omitempty"` // of the group, whose steps the way uses
}

// Hop is a step on a way to a success.
type Hop struct {
	Trajectory string `json:"trajectory"`
	Step       int    `json:"step"`
	Action     string `json:"action,omitempty"`
	State      string `json:"state"` // key of the anchor
}

// onGraph reports whether an estimator works on a graph of states.
func onGraph(estimator string) bool {
	return slices.Contains([]string{"graphgpo", "g2po", "gagpo"}, estimator)
}

// graphOf returns the graph's part of the row, or nil for estimators without a graph.
func (b *Batch) graphOf(row int) *Graph {
	r := b.distances()
	if r == nil {
		return nil
	}
	nearest := b.nearest(r.AnchorGroup[row])
	_, known := b.way(nearest.row)
	way, reached := b.way(row)
	g := &Graph{Known: known, Before: nearest.distance + 1, After: int(r.Distance[row]), Reached: reached}
	if b.Config.Estimator == "graphgpo" {
		g.Q = b.Result.Next[row]
	}
	used := map[int32]bool{}
	for _, i := range way {
		used[b.Rows.Trajectory[i]] = true
		g.Path = append(g.Path, Hop{b.members[b.Rows.Trajectory[i]].Trajectory, int(b.Rows.Step[i]), b.actions[i], b.Rows.Anchor[i]})
	}
	g.Members = len(used)
	return g
}

// distances returns the result with the distances to a success: the estimator's own or, if it
// has none, that of graphgpo with the same settings. It returns nil for estimators without a
// graph.
func (b *Batch) distances() *advantage.Result {
	switch {
	case !onGraph(b.Config.Estimator):
		return nil
	case len(b.Result.Distance) > 0:
		return &b.Result
	case b.near == nil:
		b.near = new(advantage.Result)
		c := b.Config
		c.Estimator = "graphgpo"
		if advantage.Estimate(c, &b.Rows, b.near) != nil { // of numbers that are too large
			b.near.Distance = nil
		}
	}
	if len(b.near.Distance) == 0 {
		return nil
	}
	return b.near
}

// way returns the rows of the shortest way to a success after a row, and whether there is one.
func (b *Batch) way(row int) (rows []int, reached bool) {
	r, at := b.distances(), b.positions()
	for i := row; r.Distance[i] > 0; {
		next, ok := at[place{b.Rows.Trajectory[i], b.Rows.Step[i] + 1}]
		if !ok {
			return nil, false
		}
		n := b.nearest(r.AnchorGroup[next])
		if n.distance+1 != int(r.Distance[i]) || len(rows) > b.Rows.Len() {
			return nil, false
		}
		i = n.row
		rows = append(rows, i)
	}
	return rows, true
}

// near is the step that leads from a state nearest to a success.
type near struct{ row, distance int }

// nearest returns the first of the steps from a state that lead nearest to a success.
func (b *Batch) nearest(state int32) near {
	out, r := near{row: -1}, b.distances()
	for i, s := range r.AnchorGroup {
		if d := int(r.Distance[i]); s == state && (out.row < 0 || d < out.distance) {
			out = near{i, d}
		}
	}
	return out
}

// gainTerm returns the second part of A_S of g2po, or nil for other estimators.
func (b *Batch) gainTerm(row int) *Term {
	if b.Config.Estimator != "g2po" {
		return nil
	}
	gains := make([]float64, b.Rows.Len())
	for i := range gains {
		gains[i] = b.Result.Next[i] + b.penalty(i) - b.Result.Value[i]
	}
	group, _, _ := b.columns()
	n := norm(b.Config)
	n.Singleton = advantage.SingletonZero
	return compared(gains[row], advantage.Spreads(gains, group, nil)[group[row]], n, "gains in the group")
}

// penalty returns what the row loses for an invalid action.
func (b *Batch) penalty(row int) float64 {
	if b.Rows.Valid == nil || b.Rows.Valid[row] {
		return 0
	}
	return b.Config.InvalidActionPenalty
}

// leads returns what the row leads to, or nil for estimators without a graph.
func (b *Batch) leads(row int) *Leads {
	r := &b.Result
	switch b.Config.Estimator {
	case "graphgpo":
		return &Leads{Next: r.Next[row], After: int(r.Distance[row])}
	case "g2po":
		return &Leads{Next: r.Next[row]}
	}
	return nil
}

// Left says in words how far the state and the next one are from a success.
func (g *Graph) Left() string {
	switch {
	case !g.Known:
		return "no way to a success is known from this state"
	case g.After == 0:
		return steps(g.Before) + " from this state, and this step succeeded"
	case !g.Reached:
		return steps(g.Before) + " from this state, and no way is known after this step"
	}
	return fmt.Sprintf("%s from this state, %d after this step", steps(g.Before), g.After)
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return strconv.Itoa(n) + " steps"
}

// Formula writes q with its numbers, or nothing for estimators that do not compare it.
func (g *Graph) Formula(c advantage.Config) string {
	if c.Estimator != "graphgpo" {
		return ""
	}
	exponent, form := g.After, "d(s')"
	if c.Distance == "progress" {
		exponent, form = g.After-g.Before+1, "(d(s') − d(s) + 1)"
	}
	return fmt.Sprintf("q = 10 × distance_decay^%s = 10 × %g^%d = %s", form, c.DistanceDecay, exponent, Number(g.Q))
}
