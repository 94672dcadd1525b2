package rowio

import (
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// Table is a file of rows: the columns that estimators read, and the text that
// [Table.Write] writes again.
type Table struct {
	Rows advantage.Rows

	lines        []line  // by row
	iterations   []int32 // by row, or noIteration or wrongIteration
	trajectories []trajectory
}

// line is the source of a row.
type line struct {
	number int
	text   []byte // the object without its closing brace and without result fields; nil for a row that is not in the file
}

type trajectory struct {
	group, name string
	id, groupID int32
	rows        int
	scored      bool
	score       float64
	scoreLine   int    // the line of scored and score, 0 = none yet
	noReward    bool   // some reward is null, so there is no return
	left        string // the trajectory that it branched off, if branches is true
	at          int32
	branches    bool
	branchLine  int // the line of these, 0 = none yet
}

// Where describes a row for messages: group, trajectory, step and line.
func (t *Table) Where(row int) string {
	x := t.trajectories[t.Rows.Trajectory[row]]
	return place(t.lines[row].number, x.group, x.name, t.Rows.Step[row])
}

// Explain returns err with the row of an [advantage.RowError] described by group,
// trajectory, step and line, and any other error unchanged.
func (t *Table) Explain(err error) error {
	var e *advantage.RowError
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s: %s", t.Where(e.Row), e.What)
}

func place(number int, group, name string, step int32) string {
	return fmt.Sprintf("line %d (group %s, trajectory %s, step %d)", number, quote(group), quote(name), step)
}

// quote makes a name from a file safe for a message: short, without control
// characters.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Place returns a row's group and trajectory in the file, and the 1-based line of the
// row, or 0 for the copied step of a branch that the file leaves out.
func (t *Table) Place(row int) (group, trajectory string, line int) {
	x := t.trajectories[t.Rows.Trajectory[row]]
	if t.lines[row].text == nil {
		return x.group, x.name, 0
	}
	return x.group, x.name, t.lines[row].number
}
