package row

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// fields returns the JSON names of the fields of a trajectory.
var fields = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[rl.Trajectory]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			names[name] = true
		}
	}
	return names
})

func isField(name string) bool { return fields()[name] }

// IsField reports whether a column of that name is read into a field of a
// trajectory.
func IsField(name string) bool { return isField(name) }

// keepColumns puts the columns of a row, a valid JSON object, that are not fields of t into
// its metadata, where rewards find them. A column replaces an entry of the same name in
// the row's own metadata; the original object stays in the row's own
// columns.
func keepColumns(t *rl.Trajectory, text []byte) error {
	var known [32]jsonspan.Member
	var own []byte
	written := len(t.Steps) > 0 // by Merit: its metadata consists of columns
	for _, m := range jsonspan.Members(known[:0], text) {
		name, value := jsonspan.Text(text[m.KeyStart:m.KeyEnd]), text[m.ValueStart:m.End]
		if fields()[string(name)] {
			keepField(t, string(name), value)
			if string(name) == Metadata && value[0] == '{' {
				own = value
			}
			written = written || string(name) == ownColumns
			continue
		}
		if err := lookAlike(t, string(name)); err != nil {
			return err
		}
		keep(t, string(name), value)
	}
	if !written {
		settleOwn(t, own)
	}
	return nil
}

// keepField keeps the value of a column that became a field of t, if the field does not
// hold it exactly or an entry of the metadata would hide it.
func keepField(t *rl.Trajectory, name string, value []byte) {
	_, hidden := t.Metadata[name]
	if null := string(value) == "null"; null && nullable[name] || hidden && !null {
		keepOwn(t, name, bytes.Clone(value))
	}
}

// settleOwn records which columns of t were in the row as an object called metadata. If
// Own is empty, there was none, and the metadata was made from
// columns.
func settleOwn(t *rl.Trajectory, metadata []byte) {
	switch {
	case metadata != nil:
		keepOwn(t, Metadata, bytes.Clone(metadata))
	case len(t.Metadata) > 0 && t.Own == nil:
		t.Own = map[string]json.RawMessage{}
	}
}

// nullable lists columns that rows of trainers have, too: if they are null, a reward that
// reads them gets null.
var nullable = map[string]bool{"id": true, "group": true, "task": true, Metadata: true}

func keep(t *rl.Trajectory, name string, value []byte) {
	if _, hidden := t.Metadata[name]; hidden {
		keepOwn(t, name, bytes.Clone(value))
	}
	if t.Metadata == nil {
		t.Metadata = map[string]json.RawMessage{}
	}
	t.Metadata[name] = bytes.Clone(value)
}

func keepOwn(t *rl.Trajectory, name string, value json.RawMessage) {
	if t.Own == nil {
		t.Own = map[string]json.RawMessage{}
	}
	if t.Own[name] == nil {
		t.Own[name] = value
	}
}

// lookAlike rejects a column whose name differs from messages or ground_truth only by
// case, by look-alike letters or, if the row has no ground truth, by one letter, because
// its author expects Merit to read it.
func lookAlike(t *rl.Trajectory, name string) error {
	for _, field := range []string{Messages, Truth} {
		near := strings.EqualFold(name, field) || field == Truth && t.GroundTruth == nil && nearly(name, field)
		if near {
			return invalid("write "+field+", or map the column: "+field+"="+name, "the column %s is not read; did you mean %s?", name, field)
		}
	}
	return nil
}

// misnamed returns an error if a row without messages has a column with a similar name,
// and err otherwise.
func misnamed(text []byte, err error) error {
	if strictjson.Check(text) != nil || text[0] != '{' {
		return err
	}
	members := jsonspan.Members(nil, text)
	if value(text, members, Messages) != nil {
		return err
	}
	for _, m := range members {
		name := string(jsonspan.Text(text[m.KeyStart:m.KeyEnd]))
		if strings.EqualFold(name, Messages) || nearly(name, Messages) {
			return invalid("write messages, or map the column: messages="+name, "the column messages is missing; did you mean %s?", name)
		}
	}
	return err
}
