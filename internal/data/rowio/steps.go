package rowio

// finish checks the relations between rows and drops the columns that no row has.
func (rd *reader) finish() {
	r, given := &rd.table.Rows, rd.table.Rows.Len()
	rd.branches()
	rd.checkSteps()
	if rd.valued > 0 && rd.valued < given && len(rd.problems.list) == 0 {
		rd.problems.add(0, "value is given in %d of %d rows; set it in all rows or in none", rd.valued, given)
	}
	if rd.has&fieldValue == 0 {
		r.Value = nil
	}
	if rd.has&fieldBootstrap == 0 {
		r.Bootstrap = nil
	}
	if rd.has&fieldValid == 0 {
		r.Valid = nil
	}
	if rd.has&fieldTerminated == 0 {
		r.Terminated = nil
	}
	if rd.has&fieldTruncated == 0 {
		r.Truncated = nil
	}
	if rd.has&fieldRole == 0 {
		r.Role = nil
	}
	if rd.has&fieldGreedy == 0 {
		r.Greedy = nil
	}
	if rd.has&fieldLogProb == 0 {
		r.LogProb = nil
	}
	rd.finishRewards()
}

// checkSteps reports duplicate and missing steps, and steps after the end of a trajectory,
// in time linear in the number of rows.
func (rd *reader) checkSteps() {
	t := rd.table
	start := make([]int, len(t.trajectories)+1)
	for k, tr := range t.trajectories {
		start[k+1] = start[k] + tr.rows
	}
	at := make([]int, t.Rows.Len()) // row + 1, by trajectory and step
	highest := make([]int, len(t.trajectories))
	for i, k := range t.Rows.Trajectory {
		step := int(t.Rows.Step[i])
		if step > int(t.Rows.Step[highest[k]]) || t.Rows.Trajectory[highest[k]] != k {
			highest[k] = i
		}
		slot := start[k] + step
		switch {
		case slot >= start[k+1]:
		case at[slot] > 0:
			rd.problems.add(t.lines[i].number, "%s: the step occurs twice, first in line %d", t.Where(i), t.lines[at[slot]-1].number)
		default:
			at[slot] = i + 1
		}
	}
	for k, tr := range t.trajectories {
		last := highest[k]
		rd.checkEnds(at[start[k]:start[k+1]], int(t.Rows.Step[last]))
		if rd.lost {
			continue // the missing step may be the line that could not be read
		}
		for step := 0; step < tr.rows && step < int(t.Rows.Step[last]); step++ {
			if at[start[k]+step] == 0 {
				rd.problems.add(t.lines[last].number, "%s: step %d is missing", t.Where(last), step)
				break
			}
		}
	}
}

// checkEnds reports an end mark on a step that is not the last.
func (rd *reader) checkEnds(rows []int, last int) {
	t := rd.table
	for _, n := range rows {
		if n == 0 {
			continue
		}
		i := n - 1
		if int(t.Rows.Step[i]) < last && (t.Rows.Terminated[i] || t.Rows.Truncated[i]) {
			rd.problems.add(t.lines[i].number, "%s: terminated or truncated, but step %d follows", t.Where(i), last)
		}
	}
}
