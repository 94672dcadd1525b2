package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// Column says that the top-level column From of each line holds what the field
// Name of a trajectory should, such as ground_truth. What the line has under
// Name itself is then not read.
type Column struct{ Name, From string }

// ParseColumns reads NAME=COLUMN texts.
func ParseColumns(texts []string) ([]Column, error) {
	var columns []Column
	var problems fault.Problems
	seen := map[string]bool{}
	for _, text := range texts {
		name, from, ok := strings.Cut(text, "=")
		problems.Check(ok && name != "" && from != "", "map", text, "write NAME=COLUMN, such as ground_truth=answer")
		problems.Check(!seen[name], "map", text, "name each field once")
		seen[name] = true
		columns = append(columns, Column{name, from})
	}
	return columns, errors.Join(problems...)
}

// fields are the JSON names of a trajectory.
var fields = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[rl.Trajectory]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
})

// isField reports whether encoding/json would decode a column of that name
// into a field of a trajectory.
func isField(name []byte) bool {
	if fields()[string(name)] {
		return true
	}
	for field := range fields() {
		if strings.EqualFold(field, string(name)) {
			return true
		}
	}
	return false
}

// Columns returns the top-level keys of a line, in order; none if the line is
// not a JSON object.
func (l Line) Columns() []string {
	if !isObject(l.Text) {
		return nil
	}
	var names []string
	for _, m := range Members(nil, l.Text) {
		names = append(names, string(Text(l.Text[m.KeyStart:m.KeyEnd])))
	}
	return names
}

func isObject(text []byte) bool { return len(text) > 0 && text[0] == '{' && json.Valid(text) }

// renamed returns the object in line with its columns called as columns say.
func renamed(line []byte, columns []Column) ([]byte, error) {
	if !isObject(line) {
		return line, nil // decoding says what is wrong with it
	}
	found := map[string]bool{}
	out := []byte{'{'}
	for _, m := range Members(nil, line) {
		key := string(Text(line[m.KeyStart:m.KeyEnd]))
		var names []string // several fields may take one column
		replaced := false
		for _, c := range columns {
			if c.From == key {
				names = append(names, c.Name)
				found[key] = true
			}
			replaced = replaced || strings.EqualFold(c.Name, key)
		}
		if len(names) == 0 && !replaced {
			names = []string{key}
		}
		for _, name := range names {
			if len(out) > 1 {
				out = append(out, ',')
			}
			quoted, err := json.Marshal(name)
			if err != nil {
				return nil, err
			}
			out = append(append(append(out, quoted...), ':'), line[m.ValueStart:m.End]...)
		}
	}
	for _, c := range columns {
		if !found[c.From] {
			return nil, invalid("map another column, or omit the line", "there is no column %q for %s; the columns are: %s",
				c.From, c.Name, strings.Join(Line{Text: line}.Columns(), ", "))
		}
	}
	return append(out, '}'), nil
}

// keepColumns puts the columns of line, a valid JSON object, that no field of t
// takes into its metadata, where rewards look for them.
func keepColumns(t *rl.Trajectory, line []byte) error {
	var known [32]Member
	for _, m := range Members(known[:0], line) {
		name := Text(line[m.KeyStart:m.KeyEnd])
		if isField(name) {
			continue
		}
		key, value := string(name), bytes.Clone(line[m.ValueStart:m.End])
		if old, ok := t.Metadata[key]; ok && !sameJSON(old, value) {
			return invalid("omit one of them", "%s is given twice, as a column or in metadata, with different values", key)
		}
		if t.Metadata == nil {
			t.Metadata = map[string]json.RawMessage{}
		}
		t.Metadata[key] = value
	}
	return nil
}

// sameJSON reports whether two JSON values are spelled alike but for spaces.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
