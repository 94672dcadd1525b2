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
	// Kept is, with tigpo, how many steps of earlier updates lead on from the state instead of a
	// step of the group; the trajectory saw the state, and took another step. 0 = none.
	Kept int `json:"kept,omitempty"`
}

// onGraph reports whether an estimator works on a graph of states.
func onGraph(estimator string) bool {
	return slices.Contains([]string{"graphgpo", "tigpo", "g2po", "gagpo"}, estimator)
}

// graphOf returns the graph's part of the row, or nil for estimators without a graph.
func (b *Batch) graphOf(row int) *Graph {
	r := b.distances()
	if r == nil {
		return nil
	}
	nearest := b.nearest(r.AnchorGroup[row], 0)
	_, known := b.wayFrom(r.AnchorGroup[row])
	way, reached := b.way(row)
	g := &Graph{Known: known, Before: nearest.distance, After: int(r.Distance[row]), Reached: reached}
	if comparesDistance(b.Config.Estimator) {
		g.Q = b.Result.Next[row]
	}
	used := map[int32]bool{}
	for _, n := range way {
		hop := Hop{b.members[b.Rows.Trajectory[n.row]].Trajectory, int(b.Rows.Step[n.row]), b.actions[n.row], b.Rows.Anchor[n.row], n.kept}
		if n.kept > 0 {
			hop.Action = ""
		} else {
			used[b.Rows.Trajectory[n.row]] = true
		}
		g.Path = append(g.Path, hop)
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

// way returns the shortest way to a success after a row, and whether there is one.
func (b *Batch) way(row int) (way []near, reached bool) {
	r := b.distances()
	if r.Distance[row] == 0 {
		return nil, true
	}
	next, ok := b.positions()[place{b.Rows.Trajectory[row], b.Rows.Step[row] + 1}]
	if !ok || b.nearest(r.AnchorGroup[next], 0).distance != int(r.Distance[row]) {
		return nil, false
	}
	return b.wayFrom(r.AnchorGroup[next])
}

// wayFrom returns the shortest way to a success from a state, and whether there is one.
func (b *Batch) wayFrom(state int32) (way []near, reached bool) {
	r, at := b.distances(), b.positions()
	for left := b.nearest(state, 0).distance; left > 0 && len(way) <= b.Rows.Len(); {
		n := b.nearest(state, 0)
		if n.distance != left {
			return nil, false
		}
		way = append(way, n)
		left -= max(n.kept, 1)
		switch next, ok := at[place{b.Rows.Trajectory[n.row], b.Rows.Step[n.row] + 1}]; {
		case left == 0:
			return way, n.kept > 0 || r.Distance[n.row] == 0
		case n.kept > 0:
			state = r.AnchorGroup[n.to]
		case ok:
			state = r.AnchorGroup[next]
		default:
			return nil, false
		}
	}
	return nil, false
}

// near is the shortest way on from a state: a step of the group or, with tigpo, kept steps to
// the state that the row to saw, below 0 a success.
type near struct{ row, distance, kept, to int }

// nearest returns the shortest way on from a state: the first of the steps that lead nearest to
// a success, unless kept steps lead nearer. Depth is how many kept steps led here: damaged files
// can have circles.
func (b *Batch) nearest(state int32, depth int) near {
	out, r := near{row: -1}, b.distances()
	for i, s := range r.AnchorGroup {
		if s != state {
			continue
		}
		if d := int(r.Distance[i]) + 1; out.row < 0 || d < out.distance {
			out = near{row: i, distance: d}
		}
	}
	if b.Config.Estimator != "tigpo" || b.Rows.KeptSteps == nil || depth > mostStretches {
		return out
	}
	for i, s := range r.AnchorGroup {
		if s != state || b.Rows.KeptSteps[i] == 0 {
			continue
		}
		d, to := int(b.Rows.KeptSteps[i]), int(b.Rows.KeptTo[i])
		if d >= out.distance {
			continue
		}
		if to >= 0 {
			d += b.nearest(r.AnchorGroup[to], depth+1).distance
		}
		if d < out.distance {
			out = near{i, d, int(b.Rows.KeptSteps[i]), to}
		}
	}
	return out
}

// mostStretches is how many stretches of kept steps a way may have.
const mostStretches = 64

// comparesDistance reports whether an estimator compares steps by q.
func comparesDistance(estimator string) bool { return estimator == "graphgpo" || estimator == "tigpo" }

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
	case "graphgpo", "tigpo":
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
	if !comparesDistance(c.Estimator) {
		return ""
	}
	exponent, form := g.After, "d(s')"
	if c.Distance == "progress" {
		exponent, form = g.After-g.Before+1, "(d(s') − d(s) + 1)"
	}
	return fmt.Sprintf("q = 10 × distance_decay^%s = 10 × %g^%d = %s", form, c.DistanceDecay, exponent, Number(g.Q))
}
