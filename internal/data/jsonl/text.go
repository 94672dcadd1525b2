package jsonl

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/data/table"
)

// delimiterOf returns the delimiter of a text table with that name, compressed or not; 0 if
// it is not one.
func delimiterOf(path string) rune {
	switch filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".zst")) {
	case ".csv":
		return ','
	case ".tsv":
		return '\t'
	}
	return 0
}

// text converts a Writer's lines to a text table, whose columns are known once all lines
// have been seen. A string is written unchanged, every other value as JSON; null and
// missing values are empty cells.
type text struct {
	cut     cutter
	aside   *aside
	to      io.Writer
	pack    io.WriteCloser // nil without compression
	comma   rune
	columns []string
	at      map[string]int
}

func newText(to io.Writer, path string, comma rune) (*text, error) {
	kept, err := newAside(filepath.Dir(path))
	t := &text{aside: kept, to: to, comma: comma, at: map[string]int{}}
	if t.pack = compressor(filepath.Ext(path), to); t.pack != nil {
		t.to = t.pack
	}
	return t, err
}

func (t *text) Write(p []byte) (int, error) { return t.cut.write(p, t.line) }

func (t *text) line(row []byte) error {
	for _, m := range jsonspan.Members(nil, row) {
		name := string(jsonspan.Text(row[m.KeyStart:m.KeyEnd]))
		if _, known := t.at[name]; !known {
			t.at[name] = len(t.columns)
			t.columns = append(t.columns, name)
		}
	}
	if len(t.columns) > table.MaxColumns {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, What: fmt.Sprintf("the rows have more than %d columns", table.MaxColumns), Hint: "write JSON Lines or Parquet"}
	}
	return t.aside.add(row)
}

// Close finishes the file.
func (t *text) Close() error {
	out := csv.NewWriter(t.to)
	out.Comma = t.comma
	if err := out.Write(t.columns); err != nil {
		return CannotWrite(err)
	}
	cells := make([]string, len(t.columns))
	err := t.aside.each(func(row []byte) error {
		clear(cells)
		for _, m := range jsonspan.Members(nil, row) {
			if value := row[m.ValueStart:m.End]; !none(value) {
				cells[t.at[string(jsonspan.Text(row[m.KeyStart:m.KeyEnd]))]] = string(unspaced(value))
			}
		}
		if len(cells) == 1 && cells[0] == "" { // a blank line would not be a row
			out.Flush()
			_, err := io.WriteString(t.to, "\"\"\n")
			return CannotWrite(err)
		}
		return CannotWrite(out.Write(cells))
	})
	out.Flush()
	err = errors.Join(err, CannotWrite(out.Error()))
	if t.pack != nil {
		err = errors.Join(err, CannotWrite(t.pack.Close()))
	}
	return err
}

// unspaced returns the content of a JSON string, with surrounding spaces, and other JSON
// unchanged.
func unspaced(value []byte) []byte {
	if value[0] == '"' {
		return jsonspan.Text(value)
	}
	return value
}

func (t *text) drop() { t.aside.drop() }
