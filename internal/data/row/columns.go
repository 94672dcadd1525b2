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

// fields are the JSON names of a trajectory.
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

// keepColumns puts the columns of a row, a valid JSON object, that no field of t
// takes into its metadata, where rewards look for them. A column wins over an
// entry of the row's own metadata that has its name; that object stays as it was
// among the row's own columns.
func keepColumns(t *rl.Trajectory, text []byte) error {
	var known [32]jsonspan.Member
	var own []byte
	written := len(t.Steps) > 0 // by Merit: its metadata is made of columns
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

// keepField keeps the value of a column that a field of t takes, where the field
// does not hold it or an entry of the metadata would hide it.
func keepField(t *rl.Trajectory, name string, value []byte) {
	_, hidden := t.Metadata[name]
	if null := string(value) == "null"; null && nullable[name] || hidden && !null {
		keepOwn(t, name, bytes.Clone(value))
	}
}

// settleOwn notes which of the columns of t the row had as an object called
// metadata. Own that is empty says that there was none: the metadata was made of
// columns.
func settleOwn(t *rl.Trajectory, metadata []byte) {
	switch {
	case metadata != nil:
		keepOwn(t, Metadata, bytes.Clone(metadata))
	case len(t.Metadata) > 0 && t.Own == nil:
		t.Own = map[string]json.RawMessage{}
	}
}

// nullable are the columns that trainers' rows have, too: where they are null,
// a reward that asks for them gets that.
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

// lookAlike refuses a column that differs from messages or ground_truth by the
// case of letters, by letters that look alike, or, where the row has no ground
// truth, by one letter: whoever wrote it expects Merit to read it.
func lookAlike(t *rl.Trajectory, name string) error {
	for _, field := range []string{Messages, Truth} {
		near := strings.EqualFold(name, field) || field == Truth && t.GroundTruth == nil && nearly(name, field)
		if near {
			return invalid("write "+field+", or map the column: "+field+"="+name, "the column %s is not read; did you mean %s?", name, field)
		}
	}
	return nil
}

// misnamed returns the error of a row that has a column which looks like messages
// in their place, and err for any other row.
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
			return invalid("write messages, or map the column: messages="+name, "there is no column messages; did you mean %s?", name)
		}
	}
	return err
}
