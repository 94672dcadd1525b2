package jsonl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/jsonspan"
	"github.com/merit-rl/merit/core/rl"
)

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
	for _, m := range jsonspan.Members(nil, l.Text) {
		names = append(names, string(jsonspan.Text(l.Text[m.KeyStart:m.KeyEnd])))
	}
	return names
}

func isObject(text []byte) bool { return len(text) > 0 && text[0] == '{' && json.Valid(text) }

// keepColumns puts the columns of line, a valid JSON object, that no field of t
// takes into its metadata, where rewards look for them.
func keepColumns(t *rl.Trajectory, line []byte) error {
	var known [32]jsonspan.Member
	for _, m := range jsonspan.Members(known[:0], line) {
		name := jsonspan.Text(line[m.KeyStart:m.KeyEnd])
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

// named are the fields that are names: data sets have numbers there, too.
var named = map[string]bool{"id": true, "group": true, "task": true}

// labelled returns the object in line with texts in the place of numbers that
// are names: 7 is called "7", as it is in CSV.
func labelled(line []byte) []byte {
	out := object{text: make([]byte, 0, len(line)+len(`""`)*len(named))}
	out.text = append(out.text, '{')
	for _, m := range jsonspan.Members(nil, line) {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		if named[strings.ToLower(name)] && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
			value = append(append([]byte{'"'}, bytes.TrimSpace(value)...), '"')
		}
		out.add(name, value)
	}
	return append(out.text, '}')
}

// sameJSON reports whether two JSON values are spelled alike but for spaces.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
