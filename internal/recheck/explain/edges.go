package explain

import (
	"cmp"
	"slices"
	"strconv"
)

// Edge is where steps from a state lead: all steps of the group from it to one next state.
type Edge struct {
	To      string   `json:"to,omitempty"`      // key of the next state; empty behind the last step of a trajectory
	End     bool     `json:"end,omitempty"`     // the steps end their trajectories
	After   int      `json:"after"`             // steps from the next state to a success; 0 = the steps succeeded
	Reached bool     `json:"reached"`           // false = no way leads from the next state to a success
	Actions []string `json:"actions,omitempty"` // distinct ones, in the file's order
	Steps   int      `json:"steps"`
	Members int      `json:"members"`        // of the group, whose steps these are
	Next    float64  `json:"next"`           // q of graphgpo; what the next state is worth, V′, of g2po and gagpo
	Value   float64  `json:"step_advantage"` // mean A_S
	Self    bool     `json:"self,omitempty"` // the explained step is one of them
}

// edges returns the edges from the state of the row, those with the largest A_S first, or nil
// for estimators without a graph.
func (b *Batch) edges(row int) []Edge {
	r := b.distances()
	if r == nil {
		return nil
	}
	type target struct {
		state int32 // −1 behind the last step
		won   bool
	}
	at, number := b.positions(), map[target]int{}
	var all []Edge
	var members []map[int32]bool
	for i, state := range r.AnchorGroup {
		if state != r.AnchorGroup[row] || b.owner(i) != i {
			continue
		}
		to := target{-1, r.Distance[i] == 0}
		next, ok := at[place{b.Rows.Trajectory[i], b.Rows.Step[i] + 1}]
		if ok {
			to.state = r.AnchorGroup[next]
		}
		n, known := number[to]
		if !known {
			n = len(all)
			number[to] = n
			_, reached := b.way(i)
			e := Edge{End: !ok, After: int(r.Distance[i]), Reached: reached, Next: b.worth(i, next, ok)}
			if ok {
				e.To = b.Rows.Anchor[next]
			}
			all, members = append(all, e), append(members, map[int32]bool{})
		}
		members[n][b.Rows.Trajectory[i]] = true
		all[n].add(b.actions[i], b.Result.Step[i], i == row)
		all[n].Members = len(members[n])
	}
	slices.SortStableFunc(all, func(x, y Edge) int { return cmp.Compare(y.Value, x.Value) })
	return all
}

// add counts a step.
func (e *Edge) add(action string, value float64, self bool) {
	e.Steps++
	e.Value += (value - e.Value) / float64(e.Steps)
	e.Self = e.Self || self
	if action != "" && !slices.Contains(e.Actions, action) {
		e.Actions = append(e.Actions, action)
	}
}

// worth returns q of a step, or what its next state is worth.
func (b *Batch) worth(row, next int, follows bool) float64 {
	switch {
	case b.Config.Estimator != "gagpo":
		return b.Result.Next[row]
	case follows:
		return b.Result.Value[next]
	}
	return 0
}

// Where names the next state.
func (e *Edge) Where() string {
	switch {
	case !e.End:
		return e.To
	case e.After == 0:
		return "success"
	}
	return "the end, without success"
}

// Left is how many steps lead from the next state to a success, in words.
func (e *Edge) Left() string {
	if !e.Reached {
		return "no way"
	}
	return strconv.Itoa(e.After)
}

// NextName returns the name of what an edge is compared by.
func (e *Explanation) NextName() string {
	if comparesDistance(e.Config.Estimator) {
		return "q"
	}
	return "V'"
}
