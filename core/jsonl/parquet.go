package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/table/columns"
)

// parquetEnding is how the names of Parquet files end.
const parquetEnding = ".parquet"

// parquet is a Writer's lines on their way into a Parquet file. Where nobody has
// said what the rows look like, they are put aside until all were seen.
type parquet struct {
	to    io.Writer
	part  []byte // of a line
	rows  *columns.Writer
	guess *columns.Guess
	aside *os.File
	lines *bufio.Writer
}

// newParquet writes rows of the given table to to, or, if it is nil, of one that
// fits them; folder is where they are put aside.
func newParquet(to io.Writer, folder string, t *columns.Table) (*parquet, error) {
	if t != nil {
		return &parquet{to: to, rows: columns.NewWriter(to, *t)}, nil
	}
	f, err := os.CreateTemp(folder, ".merit-*.jsonl")
	if err != nil {
		return nil, CannotWrite(err)
	}
	_ = os.Remove(f.Name()) // it goes with the file handle
	return &parquet{to: to, guess: guess(), aside: f, lines: bufio.NewWriterSize(f, 1<<16)}, nil
}

// guess knows of trajectories which members are as good as null if they are not
// there.
func guess() *columns.Guess {
	g := &columns.Guess{
		Lenient: []string{
			"messages", "messages.tool_calls", "messages.tool_calls.function",
			"steps", "steps.action", "steps.action.tool_calls", "steps.credit", "evaluation",
		},
		Strict: []string{"messages.content"}, // null is not ""
	}
	for _, t := range []reflect.Type{reflect.TypeFor[rl.Trajectory](), reflect.TypeFor[rl.Message](), reflect.TypeFor[rl.Step]()} {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			g.First = append(g.First, name)
		}
	}
	return g
}

// Write takes text that may begin and end inside of lines.
func (p *parquet) Write(text []byte) (int, error) {
	n := len(text)
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			p.part = append(p.part, text...)
			return n, nil
		}
		p.part = append(p.part, text[:end]...)
		if err := p.line(p.part); err != nil {
			return 0, err
		}
		p.part, text = p.part[:0], text[end+1:]
	}
}

func (p *parquet) line(text []byte) error {
	if text = bytes.TrimSpace(text); !isObject(text) {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, What: "only JSON objects can be the rows of a Parquet file", Hint: "write JSON Lines"}
	}
	if p.rows != nil {
		return p.rows.Write(text)
	}
	p.guess.Add(text)
	if _, err := p.lines.Write(text); err != nil {
		return CannotWrite(err)
	}
	return CannotWrite(p.lines.WriteByte('\n'))
}

// Close ends the file.
func (p *parquet) Close() error {
	if p.rows == nil {
		if err := p.again(); err != nil {
			return err
		}
	}
	return p.rows.Close()
}

// again writes the rows that were put aside.
func (p *parquet) again() error {
	if err := p.lines.Flush(); err != nil {
		return CannotWrite(err)
	}
	if _, err := p.aside.Seek(0, io.SeekStart); err != nil {
		return CannotWrite(err)
	}
	p.rows = columns.NewWriter(p.to, p.guess.Table("rows"))
	in := bufio.NewReaderSize(p.aside, 1<<16)
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return CannotWrite(err)
		}
		if err := p.rows.Write(bytes.TrimSpace(text)); err != nil {
			return err
		}
	}
}

// drop lets go of what was put aside.
func (p *parquet) drop() {
	if p.aside != nil {
		p.aside.Close()
	}
}

// Row is the line as JSON on one line, with its columns mapped and what text of
// a table stands for in its place: what a trajectory is decoded from.
func (r *Reader) Row(l Line) ([]byte, error) {
	text, err := r.text(l)
	if err == nil && !isObject(text) {
		err = invalid("write one JSON object a line", "not a JSON object")
	}
	if f := fault.As(err); f != nil {
		f.Where = r.At(l.Number)
	}
	if err != nil || bytes.IndexByte(text, '\n') < 0 {
		return text, err
	}
	var one bytes.Buffer
	err = json.Compact(&one, text)
	return one.Bytes(), err
}
