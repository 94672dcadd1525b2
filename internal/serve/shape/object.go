package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// object is a JSON object with its fields in order, without spaces.
type object struct {
	names  []string
	values map[string]json.RawMessage
}

// get returns the value of name, or nil if it is missing or null.
func (o object) get(name string) json.RawMessage {
	if v := o.values[name]; string(v) != "null" {
		return v
	}
	return nil
}

// decoder decodes a request and notes all problems.
type decoder struct {
	Options
	peer     Peer
	problems []error
	more     int // number of problems beyond most
}

// most is the largest number of problems in a response.
const most = 20

func (d *decoder) note(kind fault.Kind, where, what, hint string) {
	if len(d.problems) == most {
		d.more++
		return
	}
	if hint == "" {
		hint = fmt.Sprintf("send a request of %s; this path does not accept other formats", d.peer)
	}
	d.problems = append(d.problems, &fault.Error{Boundary: fault.Data, Kind: kind, Where: where, What: what, Hint: hint})
}

func (d *decoder) wrong(where, what, hint string) { d.note(fault.Invalid, where, what, hint) }

func (d *decoder) err() error {
	if d.more > 0 {
		d.problems = append(d.problems, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: fmt.Sprintf("and %d more problems", d.more), Hint: "fix the problems above first"})
	}
	return errors.Join(d.problems...)
}

// document decodes a whole body, which must be one JSON object.
func (d *decoder) document(body []byte) (object, bool) {
	if !utf8.Valid(body) {
		d.wrong("body", "the body is not UTF-8", "send JSON in UTF-8")
		return object{}, false
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, body); err != nil {
		d.wrong("body", "the body is not JSON: "+err.Error(), "send one JSON object; NaN and Infinity, which Python writes, are not JSON")
		return object{}, false
	}
	return d.object("body", flat.Bytes())
}

// object decodes raw, which is valid JSON without spaces.
func (d *decoder) object(where string, raw json.RawMessage) (object, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		d.wrong(where, "must be an object, not "+kind(raw), "")
		return object{}, false
	}
	o := object{values: map[string]json.RawMessage{}}
	for _, m := range jsonspan.Members(nil, raw) {
		name := string(jsonspan.Text(raw[m.KeyStart:m.KeyEnd]))
		if _, twice := o.values[name]; twice {
			d.wrong(join(where, name), "the field is given twice", "give each field once")
			continue
		}
		o.names = append(o.names, name)
		o.values[name] = raw[m.ValueStart:m.End]
	}
	return o, true
}

// list decodes the elements of raw.
func (d *decoder) list(where string, raw json.RawMessage) ([]json.RawMessage, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		d.wrong(where, "must be a list, not "+kind(raw), "")
		return nil, false
	}
	var all []json.RawMessage
	if err := strictjson.Unmarshal(raw, &all); err != nil {
		d.wrong(where, err.Error(), "")
		return nil, false
	}
	return all, true
}

// text decodes a string.
func (d *decoder) text(where string, raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		d.wrong(where, "must be a string, not "+kind(raw), "")
		return "", false
	}
	return string(jsonspan.Text(raw)), true
}

// kind returns the name of the JSON type of raw.
func kind(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return "missing"
	case raw[0] == '[':
		return "a list"
	}
	return strictjson.Kind(raw)
}

// join returns the path of a field of the object at where.
func join(where, name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	if where == "body" {
		return name
	}
	return where + "." + name
}
