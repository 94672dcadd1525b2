package rowio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/data/table"
)

// branch records which trajectory the one of the parsed row branched off.
func (rd *reader) branch(number int, tr *trajectory) {
	x := &rd.row
	branches := (x.has&^x.null)&fieldBranchOf != 0
	switch {
	case len(x.wrong) > 0:
		rd.lost = rd.lost || x.has&(fieldBranchOf|fieldBranchAt) != 0 // where it begins is not known
	case tr.branchLine == 0:
		tr.branchLine, tr.branches, tr.left, tr.at = number, branches, string(x.left), x.at
	case branches != tr.branches:
		rd.problems.add(number, "%s: branch_of is given in some rows of the trajectory but not in others (compare line %d)",
			place(number, tr.group, tr.name, x.step), tr.branchLine)
	case branches && (string(x.left) != tr.left || x.at != tr.at):
		rd.problems.add(number, "%s: the trajectory branches off %s at step %d here, but off %s at step %d in line %d",
			place(number, tr.group, tr.name, x.step), quote(string(x.left)), x.at, quote(tr.left), tr.at, tr.branchLine)
	}
}

// A file may leave out the steps that branches copy. Merit adds at most so many rows for each row of the
// file, and at least leastCopies.
const (
	mostCopies  = 64
	leastCopies = 1 << 18
)

// branches makes columns of the branches of a file, if it has any, and adds the copied steps that
// it leaves out.
func (rd *reader) branches() {
	t := rd.table
	if !slices.ContainsFunc(t.trajectories, func(x trajectory) bool { return x.branches }) {
		return
	}
	if rd.lost = rd.lost || len(rd.problems.list) > 0; rd.lost {
		return // without the copies, so that their steps are not said to be missing
	}
	of := make([]int32, len(t.trajectories))
	for k := range t.trajectories {
		x := &t.trajectories[k]
		if of[k] = -1; !x.branches {
			continue
		}
		id, ok := rd.known[name{x.groupID, x.left}]
		if !ok {
			rd.problems.add(x.branchLine, "%s: branch_of names %s, which is not a trajectory of the group", place(x.branchLine, x.group, x.name, x.at), quote(x.left))
			rd.lost = true // its first steps, too
		}
		of[k] = id
	}
	if !rd.lost {
		rd.origins(of)
	}
	if rd.lost {
		return
	}
	rd.copies(of)
	rd.meet(of)
	n := t.Rows.Len()
	t.Rows.BranchOf, t.Rows.BranchAt = make([]int32, n), make([]int32, n)
	for i, k := range t.Rows.Trajectory {
		t.Rows.BranchOf[i], t.Rows.BranchAt[i] = of[k], t.trajectories[k].at
	}
}

// origins reports branches that leave a circle of branches, or a trajectory behind its end. Their
// first steps cannot be copied, so nothing is said of those that are missing.
func (rd *reader) origins(of []int32) {
	t := rd.table
	steps := make([]int32, len(of)) // with those that the file leaves out
	for i, k := range t.Rows.Trajectory {
		steps[k] = max(steps[k], t.Rows.Step[i]+1)
	}
	circular := circles(of)
	wrong := func(x *trajectory, format string, args ...any) {
		rd.problems.add(x.branchLine, "%s: %s", place(x.branchLine, x.group, x.name, x.at), fmt.Sprintf(format, args...))
		rd.lost = true
	}
	for k := range t.trajectories {
		x := &t.trajectories[k]
		switch {
		case !x.branches:
		case circular[k]:
			wrong(x, "branch_of names %s, which is the trajectory itself or one of its branches", quote(x.left))
		case x.at >= steps[of[k]]:
			wrong(x, "branch_at is %d, but %s has only %s", x.at, quote(x.left), table.Count(int(steps[of[k]]), "step"))
		case x.at >= steps[k]:
			wrong(x, "branch_at is %d, but the trajectory has only %s: all are copies", x.at, table.Count(int(steps[k]), "step"))
		}
	}
}

// circles says which trajectories are among those that they branch off.
func circles(of []int32) []bool {
	in, walk := make([]bool, len(of)), make([]int, len(of))
	for first := range of {
		k := int32(first)
		for ; k >= 0 && walk[k] == 0; k = of[k] {
			walk[k] = first + 1
		}
		if k >= 0 && walk[k] == first+1 {
			for ; !in[k]; k = of[k] {
				in[k] = true
			}
		}
	}
	return in
}

// meet reports branches that are not in the states of the trajectory that they left.
func (rd *reader) meet(of []int32) {
	r, t := &rd.table.Rows, rd.table
	at := make(map[[2]int32]int, r.Len())
	for i, k := range r.Trajectory {
		at[[2]int32{k, r.Step[i]}] = i
	}
	for i, k := range r.Trajectory {
		x := &t.trajectories[k]
		if !x.branches || r.Step[i] > x.at {
			continue
		}
		if j, ok := at[[2]int32{of[k], r.Step[i]}]; ok && r.Anchor[i] != r.Anchor[j] {
			rd.problems.add(t.lines[i].number, "%s: the trajectory branches off %s at step %d, but the anchor differs from that of line %d",
				t.Where(i), quote(x.left), x.at, t.lines[j].number)
		}
	}
}

// copies adds the rows before branch_at of branches that have none of them, behind all rows of the
// file. Those of a branch of a branch may be copies themselves.
func (rd *reader) copies(of []int32) {
	t := rd.table
	rows, most := make([][]int32, len(of)), max(leastCopies, mostCopies*t.Rows.Len())
	left := most
	for i, k := range t.Rows.Trajectory {
		rows[k] = append(rows[k], int32(i))
	}
	done := make([]bool, len(of))
	var fill func(k int32)
	fill = func(k int32) {
		x := &t.trajectories[k]
		if done[k] || of[k] < 0 {
			return
		}
		done[k] = true
		fill(of[k])
		for _, i := range rows[k] {
			if t.Rows.Step[i] < x.at {
				return
			}
		}
		if left -= int(x.at); left < 0 {
			return
		}
		own := rows[k][0]
		for _, i := range rows[of[k]] {
			if t.Rows.Step[i] < x.at {
				rows[k] = append(rows[k], rd.copy(i, own, x))
			}
		}
	}
	for k := range of {
		fill(int32(k))
	}
	if left < 0 {
		rd.lost = true
		rd.problems.add(0, "the branches copy more than %d steps that the file leaves out: divide it by group", most)
	}
}

// copy adds a copy of row i, which belongs to a branch that owns row own, and returns its number.
func (rd *reader) copy(i, own int32, x *trajectory) int32 {
	t := rd.table
	r := &t.Rows
	r.Group, r.Trajectory, r.Step = append(r.Group, r.Group[i]), append(r.Trajectory, x.id), append(r.Step, r.Step[i])
	r.Anchor, r.Reward, r.Score = append(r.Anchor, r.Anchor[i]), append(r.Reward, r.Reward[i]), append(r.Score, r.Score[own])
	r.Value, r.Bootstrap = append(r.Value, r.Value[i]), append(r.Bootstrap, 0)
	r.Scored, r.Valid = append(r.Scored, r.Scored[own]), append(r.Valid, r.Valid[i])
	r.Terminated, r.Truncated = append(r.Terminated, false), append(r.Truncated, false)
	r.Role, r.Greedy, r.LogProb = append(r.Role, r.Role[i]), append(r.Greedy, r.Greedy[i]), append(r.LogProb, r.LogProb[i])
	for _, c := range rd.rewards {
		c.repeat(int(own), r.Len())
	}
	t.iterations = append(t.iterations, t.iterations[i])
	t.lines = append(t.lines, line{number: t.lines[own].number})
	x.rows++
	return int32(r.Len() - 1)
}

// compares returns an error if an estimator of branches has none.
func (t *Table) compares(cfg advantage.Config) error {
	made := slices.ContainsFunc(advantage.Estimators(), func(e advantage.Estimator) bool { return e.Name == cfg.Estimator && e.Branches })
	if made && t.Rows.BranchOf == nil {
		return errors.New("estimator " + cfg.Estimator + " compares branches, and no row has any: give branch_of and branch_at in the rows of branches, or choose an estimator that compares whole trajectories, such as rloo")
	}
	return nil
}
