package rowio

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// Write writes the rows with their original text and order, each with the fields return,
// episode_advantage, step_advantage, advantage and anchor_group at its end; it replaces
// fields of these names in the input. If there are branches, it also writes advantage_weight, the
// row's weight in the loss, which is 0 for copies. return is null if the trajectory has no rewards;
// anchor_group is −1 for a row without a score. It panics if the length of res differs
// from the table's.
func (t *Table) Write(w io.Writer, res *advantage.Result) error {
	if len(res.Advantage) != len(t.lines) {
		panic(fmt.Sprintf("rowio: result has %d rows, the table %d", len(res.Advantage), len(t.lines)))
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var buf []byte
	for i, l := range t.lines {
		if l.text == nil {
			continue
		}
		buf = append(buf[:0], l.text...)
		buf = append(buf, `,"return":`...)
		if t.trajectories[t.Rows.Trajectory[i]].noReward {
			buf = append(buf, "null"...)
		} else {
			buf = number(buf, res.Return[i])
		}
		buf = number(append(buf, `,"episode_advantage":`...), res.Episode[i])
		buf = number(append(buf, `,"step_advantage":`...), res.Step[i])
		buf = number(append(buf, `,"advantage":`...), res.Advantage[i])
		buf = strconv.AppendInt(append(buf, `,"anchor_group":`...), int64(res.AnchorGroup[i]), 10)
		if t.Rows.BranchOf != nil {
			buf = number(append(buf, `,"advantage_weight":`...), res.Weight[i])
		}
		buf = append(buf, "}\n"...)
		if _, err := out.Write(buf); err != nil {
			return fmt.Errorf("writing rows: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	return nil
}

// number appends x in the shortest form that reads back the same; it writes negative zero
// as 0.
func number(dst []byte, x float64) []byte {
	return strconv.AppendFloat(dst, x+0, 'g', -1, 64)
}

// withoutResults returns the object in line without the fields that Write adds; the rest
// keeps its text.
func withoutResults(line []byte, ms []jsonspan.Member) []byte {
	out := []byte{'{'}
	for i, m := range ms {
		if fieldOf(jsonspan.Text(line[m.KeyStart:m.KeyEnd])) == fieldResult {
			continue
		}
		if len(out) > 1 {
			out = append(out, line[ms[i-1].End:m.KeyStart]...)
		}
		out = append(out, line[m.KeyStart:m.End]...)
	}
	return append(out, '}')
}
