package jsonl

import (
	"bytes"
	"encoding/json"

	"github.com/merit-rl/merit/core/jsonspan"
)

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

// sameJSON reports whether two JSON values are spelled alike but for spaces.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
