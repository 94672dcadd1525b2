package rowio

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// MaxBytes is the maximum size of a file for Read, decompressed.
const MaxBytes = 2 << 30

// Read reads rows, plain or compressed, until the end of in, which messages call name. It
// skips empty lines. If any row is invalid, the error, a *fault.Error, lists the problems
// with line, group, trajectory and step.
func Read(name string, in io.Reader) (*Table, error) {
	file, err := jsonl.NewReader(name, in)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadFile(file)
}

// ReadFile is like Read for an open file, which may also be Parquet, CSV or TSV; in the
// last two, it decodes numbers and booleans in the text of cells.
func ReadFile(file *jsonl.Reader) (*Table, error) {
	name := file.Name()
	file.Plain("step", "reward", "episode_score", "scored", "valid", "value", "bootstrap", "terminated", "truncated", "greedy_score", "rewards", "log_prob", "branch_at")
	data, err := file.All(MaxBytes)
	if err != nil {
		return nil, err
	}
	rd := newReader(bytes.Count(data, []byte{'\n'}) + 1)
	for number := 1; len(data) > 0; number++ {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		rd.line(number, bytes.TrimSpace(line))
		data = rest
	}
	rd.finish()
	if err := rd.problems.err(name); err != nil {
		return nil, err
	}
	if rd.table.Rows.Len() == 0 {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: name, What: "there are no rows",
			Hint: "write one JSON object per line, one line per step",
		}
	}
	return rd.table, nil
}

// reader builds a table line by line.
type reader struct {
	table    *Table
	problems problems
	groups   map[string]int32
	known    map[name]int32 // trajectories
	members  []jsonspan.Member
	rewards  map[string]*column
	row      row
	has      fields // given and not null in some row
	valued   int    // rows with a value
	lost     bool   // some row could not be assigned to a trajectory
}

type name struct {
	group      int32
	trajectory string
}

func newReader(rows int) *reader {
	t := &Table{lines: make([]line, 0, rows)}
	r := &t.Rows
	r.Group, r.Trajectory, r.Step = make([]int32, 0, rows), make([]int32, 0, rows), make([]int32, 0, rows)
	r.Reward, r.Score = make([]float64, 0, rows), make([]float64, 0, rows)
	r.Value, r.Bootstrap = make([]float64, 0, rows), make([]float64, 0, rows)
	r.Anchor = make([]string, 0, rows)
	r.Scored, r.Valid = make([]bool, 0, rows), make([]bool, 0, rows)
	r.Terminated, r.Truncated = make([]bool, 0, rows), make([]bool, 0, rows)
	r.Role, r.Greedy = make([]string, 0, rows), make([]float64, 0, rows)
	r.LogProb = make([]float64, 0, rows)
	return &reader{table: t, groups: make(map[string]int32), known: make(map[name]int32), rewards: make(map[string]*column)}
}

func (rd *reader) line(number int, text []byte) {
	if len(text) == 0 {
		return
	}
	text, fault := notObject(text)
	if fault != "" {
		rd.problems.add(number, "line %d: %s", number, fault)
		rd.lost = true
		return
	}
	rd.members = jsonspan.Members(rd.members[:0], text)
	rd.row.parse(text, rd.members)
	if rd.row.noName && rd.talks(text) {
		if !rd.problems.talk {
			rd.problems.add(number, "line %d: this is a whole conversation; the file needs a row for each step of one", number)
		}
		rd.problems.talk, rd.lost = true, true
		return
	}
	if rd.row.noName {
		rd.problems.add(number, "line %d: %s", number, strings.Join(rd.row.wrong, "; "))
		rd.lost = true
		return
	}
	if len(rd.row.wrong) > 0 {
		where := place(number, string(rd.row.group), string(rd.row.trajectory), rd.row.step)
		rd.problems.add(number, "%s: %s", where, strings.Join(rd.row.wrong, "; "))
	}
	rd.append(number, text)
}

// talks reports whether a line has messages.
func (rd *reader) talks(line []byte) bool {
	return slices.ContainsFunc(rd.members, func(m jsonspan.Member) bool {
		return string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])) == "messages"
	})
}

// append adds the parsed row to the table.
func (rd *reader) append(number int, text []byte) {
	x, r := &rd.row, &rd.table.Rows
	tr := rd.trajectory()
	tr.rows++
	if x.null&fieldReward != 0 {
		tr.noReward = true
	}
	switch {
	case len(x.wrong) > 0:
	case tr.scoreLine == 0:
		tr.scored, tr.score, tr.scoreLine = x.scored, x.score, number
	case x.scored != tr.scored:
		rd.problems.add(number, "%s: the trajectory is scored in some rows but not in others (compare line %d)",
			place(number, tr.group, tr.name, x.step), tr.scoreLine)
	case x.scored && x.score != tr.score:
		rd.problems.add(number, "%s: episode_score is %v here but %v in line %d",
			place(number, tr.group, tr.name, x.step), x.score, tr.score, tr.scoreLine)
	}
	r.Group = append(r.Group, tr.groupID)
	r.Trajectory = append(r.Trajectory, tr.id)
	r.Step = append(r.Step, x.step)
	r.Anchor = append(r.Anchor, string(x.anchor))
	r.Reward = append(r.Reward, x.reward)
	r.Score = append(r.Score, x.score)
	r.Value = append(r.Value, x.value)
	r.Bootstrap = append(r.Bootstrap, x.bootstrap)
	r.Scored = append(r.Scored, x.scored)
	r.Valid = append(r.Valid, x.valid)
	r.Terminated = append(r.Terminated, x.terminated)
	r.Truncated = append(r.Truncated, x.truncated)
	r.Role = append(r.Role, string(x.role))
	r.Greedy = append(r.Greedy, x.greedy)
	r.LogProb = append(r.LogProb, x.logProb)
	rd.branch(number, tr)
	rd.addRewards(number, place(number, tr.group, tr.name, x.step))
	rd.table.iterations = append(rd.table.iterations, x.iteration)
	given := x.has &^ x.null
	rd.has |= given
	if given&fieldValue != 0 {
		rd.valued++
	}
	if x.has&fieldResult != 0 {
		text = withoutResults(text, rd.members)
	}
	rd.table.lines = append(rd.table.lines, line{number: number, text: bytes.TrimSpace(text[:len(text)-1])})
}

// trajectory returns the trajectory of the parsed row.
func (rd *reader) trajectory() *trajectory {
	x, t := &rd.row, rd.table
	g, ok := rd.groups[string(x.group)]
	if !ok {
		g = int32(len(rd.groups))
		rd.groups[string(x.group)] = g
	}
	id, ok := rd.known[name{g, string(x.trajectory)}]
	if !ok {
		id = int32(len(t.trajectories))
		rd.known[name{g, string(x.trajectory)}] = id
		t.trajectories = append(t.trajectories, trajectory{
			group: string(x.group), name: string(x.trajectory), id: id, groupID: g})
	}
	return &t.trajectories[id]
}
