package credit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/serve/internal/fields"
)

// inputs are the columns that rows may have; results are those of the response.
var (
	inputs = []string{
		"group", "trajectory", "step", "observation", "reward", "episode_score",
		"anchor", "scored", "valid", "value", "bootstrap", "terminated", "truncated", "role", "greedy_score", "rewards",
	}
	results = []string{"return", "episode_advantage", "step_advantage", "advantage", "anchor_group"}
)

// ofColumns handles columns. It writes each row as a line, so that columns behave like files of
// rows. A row that has an anchor needs no observation.
func ofColumns(cfg advantage.Config, o fields.Object, most int) ([]byte, error) {
	given, err := fields.Read("columns", o.Get("columns"), inputs...)
	if err != nil {
		return nil, err
	}
	var names []string
	var columns [][][]byte
	var problems []error
	for _, name := range inputs {
		switch column, err := given.Elements(name, most); {
		case err != nil:
			problems = append(problems, err)
		case column != nil:
			names, columns = append(names, name), append(columns, column)
			if len(column) != len(columns[0]) {
				problems = append(problems, fields.Wrong("columns."+name, fmt.Sprintf("has %d rows, but columns.%s has %d", len(column), names[0], len(columns[0])), "send columns of equal length"))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if len(columns) == 0 || len(columns[0]) == 0 {
		return nil, fields.Wrong("columns", "the columns have no rows", "send group, trajectory, step, observation, reward and episode_score")
	}
	in, out := lines(names, columns), bytes.Buffer{}
	stats, err := Lines(cfg, "columns", in, &out)
	if err != nil {
		return nil, err
	}
	text, err := columnsOf(out.Bytes())
	if err != nil {
		return nil, err
	}
	return answer("columns", text, stats)
}

// lines converts columns to rows.
func lines(names []string, columns [][][]byte) *bytes.Buffer {
	begin := "{"
	if slices.Contains(names, "anchor") && !slices.Contains(names, "observation") {
		begin = `{"observation":"",`
	}
	var out bytes.Buffer
	for i := range columns[0] {
		out.WriteString(begin)
		for k, name := range names {
			if k > 0 {
				out.WriteByte(',')
			}
			out.WriteByte('"')
			out.WriteString(name)
			out.WriteString(`":`)
			_ = json.Compact(&out, columns[k][i]) // a part of a body that is valid JSON
		}
		out.WriteString("}\n")
	}
	return &out
}

// columnsOf converts the results of rows to columns.
func columnsOf(text []byte) ([]byte, error) {
	columns := make([]bytes.Buffer, len(results))
	var members []jsonspan.Member
	for line := range bytes.Lines(text) {
		members = jsonspan.Members(members[:0], line)
		own := members[len(members)-len(results):] // rowio writes the results last, in this order
		for k, m := range own {
			if string(line[m.KeyStart+1:m.KeyEnd-1]) != results[k] {
				return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Internal, What: "a result row has no " + results[k]}
			}
			columns[k].WriteByte(',')
			columns[k].Write(line[m.ValueStart:m.End])
		}
	}
	out := []byte("{")
	for k, name := range results {
		if k > 0 {
			out = append(out, ',')
		}
		out = append(fmt.Appendf(out, "%q:[", name), columns[k].Bytes()[1:]...)
		out = append(out, ']')
	}
	return append(out, '}'), nil
}
