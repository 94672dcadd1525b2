// Package row converts rows of data to trajectories, for all sources: lines or rows of a
// file, requests, and the columns of a trainer. docs/what-rewards-see.md describes the
// conversion.
package row

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Names of columns that Merit reads.
const (
	Messages   = "messages"
	Prompt     = "prompt"
	Completion = "completion"
	Truth      = "ground_truth"
	Metadata   = "metadata"
	ownColumns = "own_columns"
)

const hintMessages = `each line needs "messages": [{"role": …, "content": …}, …], or "prompt" and "completion"`

// Decode converts a row to a trajectory. The row is a JSON object on one line, with the
// given number. Columns that Merit does not read itself go to its metadata. The
// *fault.Error has no Where.
func Decode(text []byte, number int) (*rl.Trajectory, error) {
	text, err := joined(text)
	if err != nil {
		return nil, err
	}
	t, err := rl.DecodeTrajectory(text, number)
	if err != nil && bytes.Contains(text, []byte(`"from"`)) {
		text = conversed(text)
		t, err = rl.DecodeTrajectory(text, number)
	}
	if err != nil {
		row := text
		if t, text, err = relaxed(row, number, err); err != nil {
			return nil, misnamed(row, err)
		}
	}
	if err := keepColumns(t, text); err != nil {
		return nil, err
	}
	return t, checked(t)
}

// conversed converts a row with messages in ShareGPT's form to the chat form.
func conversed(text []byte) []byte {
	if strictjson.Check(text) != nil || text[0] != '{' {
		return text
	}
	members := jsonspan.Members(nil, text)
	messages := value(text, members, Messages)
	if len(messages) == 0 || messages[0] != '[' {
		return text
	}
	if messages, err := AsMessages(messages); err == nil {
		return replaced(text, members, Messages, messages)
	}
	return text
}

// joined returns a row with messages instead of a prompt and a completion. In a row that
// has messages, prompt and completion stay columns.
func joined(text []byte) ([]byte, error) {
	if !mayHave(text, completionKey) {
		return text, nil
	}
	if err := check(text); err != nil {
		return nil, err
	}
	var known [32]jsonspan.Member
	members := jsonspan.Members(known[:0], text)
	if !none(value(text, members, Messages)) || none(value(text, members, Completion)) {
		return text, nil
	}
	talk, err := Talk(value(text, members, Prompt), value(text, members, Completion))
	if err != nil {
		return nil, err
	}
	out := jsonspan.NewObject(len(text) + 128)
	for _, m := range members {
		switch name := string(jsonspan.Text(text[m.KeyStart:m.KeyEnd])); name {
		case Messages, Prompt, Completion:
		default:
			out.Add(name, text[m.ValueStart:m.End])
		}
	}
	out.AddText(talk)
	return out.End(), nil
}

var completionKey = []byte(`"` + Completion + `"`)

// mayHave reports whether text may have a member with the given key, which includes its
// quotes: it looks for the key before a colon.
func mayHave(text, key []byte) bool {
	for {
		at := bytes.Index(text, key)
		if at < 0 {
			return false
		}
		text = text[at+len(key):]
		if rest := bytes.TrimLeft(text, " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			return true
		}
	}
}

// check returns an error unless text is strict JSON.
func check(text []byte) error {
	if err := strictjson.Check(text); err != nil {
		return undecoded(err)
	}
	if len(text) == 0 || text[0] != '{' {
		return invalid(hintMessages, "not a trajectory: not an object")
	}
	return nil
}

func undecoded(err error) error {
	var wrong *strictjson.Error
	if errors.As(err, &wrong) && wrong.Twice {
		return invalid("specify it once", "%v", err)
	}
	return invalid(hintMessages, "not a trajectory: %v", err)
}

// value returns the value of a column, nil if there is none.
func value(text []byte, members []jsonspan.Member, name string) []byte {
	for _, m := range members {
		if string(jsonspan.Text(text[m.KeyStart:m.KeyEnd])) == name {
			return text[m.ValueStart:m.End]
		}
	}
	return nil
}

// DecodeRequest is like Decode for client requests. It also accepts rows with their
// columns in a separate object called columns. There they may have any name, and id and
// group, outside of it, are the client's own names.
func DecodeRequest(text []byte, number int) (*rl.Trajectory, error) {
	if !bytes.Contains(text, []byte(`"columns"`)) {
		return Decode(text, number)
	}
	if err := check(text); err != nil {
		return nil, err
	}
	members := jsonspan.Members(nil, text)
	columns := value(text, members, "columns")
	if len(columns) == 0 || columns[0] != '{' {
		return Decode(text, number)
	}
	flat, err := flattened(text, members, columns)
	if err != nil {
		return nil, err
	}
	t, err := Decode(flat, number)
	if t != nil {
		t.Unnamed, t.Ungrouped = true, true
	}
	return t, err
}

// apart lists the fields that are allowed next to columns.
var apart = map[string]bool{"id": true, "group": true, Messages: true, Prompt: true, Completion: true, Truth: true, "prompt_messages": true, "given_as_text": true, "steps": true, "stop_reason": true}

// flattened converts a request with separate columns to a row.
func flattened(text []byte, members []jsonspan.Member, columns []byte) ([]byte, error) {
	out, own := jsonspan.NewObject(0), jsonspan.NewObject(0)
	truth := !none(value(text, members, Truth))
	for _, m := range members {
		name, v := string(jsonspan.Text(text[m.KeyStart:m.KeyEnd])), text[m.ValueStart:m.End]
		switch {
		case name == "columns" || name == Truth && !truth:
		case !apart[name]:
			return nil, invalid("move it into columns", "%.64q is not allowed next to columns", name)
		default:
			out.Add(name, v)
		}
	}
	for _, m := range jsonspan.Members(nil, columns) {
		name, v := string(jsonspan.Text(columns[m.KeyStart:m.KeyEnd])), columns[m.ValueStart:m.End]
		switch {
		case name == Metadata && v[0] == '{':
			out.Add(name, v)
			own.Add(name, v)
		case name == Truth && !truth, name == "task", name == Metadata && !none(v):
			out.Add(name, v)
		case isField(name) || name == Prompt || name == Completion || name == Messages:
			own.Add(name, v)
		default:
			out.Add(name, v)
		}
	}
	if !own.Empty() {
		out.Add(ownColumns, own.End())
	}
	return out.End(), nil
}

// relaxed decodes a row again that was rejected with err: it accepts a number as a name,
// and treats a column that has the name of a field but not its type as a plain column. It
// returns the row without these columns.
func relaxed(text []byte, number int, err error) (*rl.Trajectory, []byte, error) {
	own := map[string]json.RawMessage{}
	for {
		wrong := (*rl.WrongType)(nil)
		if !errors.As(err, &wrong) || own[wrong.Field] != nil || !yields(wrong) {
			return nil, nil, refused(err)
		}
		if bad := strictjson.Check(text); bad != nil { // the decoder stopped at the type, before the end of the text
			return nil, nil, refused(fmt.Errorf("not a trajectory: %w", bad))
		}
		members := jsonspan.Members(nil, text)
		raw := bytes.Clone(value(text, members, wrong.Field))
		own[wrong.Field] = raw
		text = replaced(text, members, wrong.Field, standIn(wrong.Field, raw))
		var t *rl.Trajectory
		if t, err = rl.DecodeTrajectory(text, number); err != nil {
			continue
		}
		for name, column := range own {
			keepOwn(t, name, column)
		}
		return t, text, nil
	}
}

// yields reports whether a value of the wrong type may be a plain column: the error is in
// its own type, or that of an element, not deeper.
func yields(w *rl.WrongType) bool {
	if w.Field == Messages || w.Field == "id" && !w.Number() {
		return false
	}
	rest := w.Path[len(w.Field):]
	return rest == "" || rest[0] == '[' && rest[len(rest)-1] == ']' && bytes.IndexByte([]byte(rest), '.') < 0
}

// standIn returns the value of a field for a column of another type: the name that a
// number spells, or the object in a text; nil if there is none.
func standIn(name string, raw []byte) []byte {
	switch {
	case (name == "id" || name == "group" || name == "task") && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		return append(append([]byte{'"'}, raw...), '"')
	case name == Metadata && raw[0] == '"':
		if inner := bytes.TrimSpace(jsonspan.Text(raw)); len(inner) > 0 && inner[0] == '{' && strictjson.Check(inner) == nil {
			return inner
		}
	}
	return nil
}

// replaced returns a row with a column replaced or removed.
func replaced(text []byte, members []jsonspan.Member, column string, with []byte) []byte {
	out := jsonspan.NewObject(len(text) + 8)
	for _, m := range members {
		name, v := string(jsonspan.Text(text[m.KeyStart:m.KeyEnd])), text[m.ValueStart:m.End]
		if name == column {
			v = with
		}
		if v != nil {
			out.Add(name, v)
		}
	}
	return out.End()
}

// refused returns the error of a row that is not a trajectory.
func refused(err error) error {
	var twice *strictjson.Error
	if errors.As(err, &twice) && twice.Twice {
		return invalid("specify it once", "%v", twice)
	}
	wrong := (*rl.WrongType)(nil)
	if errors.As(err, &wrong) && wrong.Field != Messages {
		return invalid(fmt.Sprintf("Merit reads %s itself; if your column has another meaning, map it to another name: my_%s=%s", wrong.Field, wrong.Field, wrong.Field), "%v", err)
	}
	return invalid(hintMessages, "%v", err)
}

func invalid(hint, format string, args ...any) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: fmt.Sprintf(format, args...), Hint: hint}
}
