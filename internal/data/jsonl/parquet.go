package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/data/columns"
)

// parquetEnding is the extension of Parquet files.
const parquetEnding = ".parquet"

// parquet converts a Writer's lines to a Parquet file. If the table is not given, it keeps
// the rows in a temporary file until all have been seen.
type parquet struct {
	to    io.Writer
	cut   cutter
	rows  *columns.Writer
	guess *columns.Guess
	aside *aside // nil if the table is known
}

// newParquet writes rows of the given table to to. If t is nil, it finds a table that fits
// the rows, which it keeps in folder meanwhile.
func newParquet(to io.Writer, folder string, t *columns.Table) (*parquet, error) {
	if t != nil {
		return &parquet{to: to, rows: columns.NewWriter(to, *t)}, nil
	}
	kept, err := newAside(folder)
	return &parquet{to: to, guess: guess(), aside: kept}, err
}

// guess returns a Guess that knows which members of trajectories are equivalent to null
// if they are missing.
func guess() *columns.Guess {
	g := &columns.Guess{
		Lenient: []string{
			"messages", "messages.tool_calls", "messages.tool_calls.function",
			"steps", "steps.action", "steps.action.tool_calls", "steps.credit", "evaluation",
		},
		Strict: []string{"messages.content"}, // null differs from ""
	}
	for _, t := range []reflect.Type{reflect.TypeFor[rl.Trajectory](), reflect.TypeFor[rl.Message](), reflect.TypeFor[rl.Step]()} {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			g.First = append(g.First, name)
		}
	}
	return g
}

// Write accepts text that may begin and end within lines.
func (p *parquet) Write(text []byte) (int, error) { return p.cut.write(text, p.line) }

func (p *parquet) line(text []byte) error {
	if p.rows != nil {
		return p.rows.Write(text)
	}
	p.guess.Add(text)
	return p.aside.add(text)
}

// Close finishes the file.
func (p *parquet) Close() error {
	if p.rows == nil {
		p.rows = columns.NewWriter(p.to, p.guess.Table("rows"))
		if err := p.aside.each(p.rows.Write); err != nil {
			return err
		}
	}
	return p.rows.Close()
}

func (p *parquet) drop() { p.aside.drop() }

// Row returns the line as JSON on one line, with its columns mapped and the text of a
// table decoded: the object from which a trajectory is decoded.
func (r *Reader) Row(l Line) ([]byte, error) {
	text, err := r.text(l)
	if err == nil && !isObject(text) {
		err = invalid("write one JSON object per line", "not a JSON object")
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

// Plain makes the reader decode the text of these columns of a text table as numbers,
// booleans or nulls.
func (r *Reader) Plain(names ...string) {
	if !r.spelled {
		return
	}
	r.plain = map[string]bool{}
	for _, name := range names {
		r.plain[name] = true
	}
}

func (r *Reader) allRows(limit int64) (all []byte, err error) {
	bad := Bad{Unit: unitRow}
	for {
		l, err := r.Line()
		if errors.Is(err, io.EOF) {
			return all, bad.Err(r.name)
		} else if err != nil {
			return nil, err
		}
		text, err := r.Row(l)
		if err != nil {
			bad.AddLine(l, err)
			continue
		}
		if r.plain != nil {
			text = plain(text, r.plain)
		}
		if all = append(append(all, text...), '\n'); int64(len(all)) > limit {
			return nil, r.tooLong(limit)
		}
	}
}

// plain returns the object in line with the texts of some columns decoded.
func plain(line []byte, names map[string]bool) []byte {
	out := jsonspan.NewObject(len(line))
	for _, m := range jsonspan.Members(nil, line) {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		if spelt := unquoted(value); names[name] && json.Valid(spelt) && !bytes.ContainsAny(spelt[:1], `"[{`) {
			value = spelt
		}
		out.Add(name, value)
	}
	return out.End()
}
