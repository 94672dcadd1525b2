// Package fields reads JSON objects that clients send: every field has a name
// that is known and comes once, and whatever is wrong is said at once. Values
// are spans of the body, so that a large one is not copied to be looked at.
package fields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Object is the fields of a JSON object by name.
type Object struct {
	where  string
	values map[string][]byte
}

// Check holds a whole body to be JSON in UTF-8, and returns it without the
// spaces around it. The error is of the kind fault.Protocol.
func Check(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, unreadable("it is not UTF-8", "encode it as UTF-8")
	}
	if err := strictjson.Check(text); err != nil {
		if err := strictly(text, err); err != nil {
			return nil, err
		}
	}
	return bytes.TrimSpace(text), nil
}

// strictly says why a body is not JSON, or is JSON that could be read in two ways.
func strictly(text []byte, err error) error {
	var wrong *strictjson.Error
	if !errors.As(err, &wrong) {
		return unreadable("it is not JSON: "+err.Error(), hintJSON)
	}
	if wrong.Twice && !strings.ContainsAny(wrong.Path, ".[") && json.Valid(text) {
		return nil // Read says it, with whatever else is wrong
	} else if wrong.Twice {
		return Wrong(wrong.Path, wrong.What, "give it once")
	}
	return unreadable(fmt.Sprintf("it is not JSON: at byte %d, %v", wrong.Offset, err), hintJSON)
}

const hintJSON = "send one JSON value, whole; NaN and Infinity, which some encoders write, are not JSON: send null"

func unreadable(what, hint string) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Protocol, Where: "body", What: what, Hint: hint}
}

// Wrong is the error of a field that can be read and cannot be used.
func Wrong(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: where, What: what, Hint: hint}
}

// Read reads the object in text, which Check or Elements returned. Where names
// it in errors; the fields of the body itself stand alone.
func Read(where string, text []byte, known ...string) (Object, error) {
	o := Object{where: where, values: map[string][]byte{}}
	if len(text) == 0 || text[0] != '{' {
		return o, Wrong(orBody(where), "must be an object, not "+strictjson.Kind(text), "the fields are "+strings.Join(known, ", "))
	}
	allowed := map[string]bool{}
	for _, name := range known {
		allowed[name] = true
	}
	var problems []error
	for _, m := range jsonspan.Members(nil, text) {
		name := string(jsonspan.Text(text[m.KeyStart:m.KeyEnd]))
		switch _, twice := o.values[name]; {
		case !allowed[name] && len(problems) < mostProblems:
			problems = append(problems, Wrong(o.At(short(name)), "is not a field", "the fields are "+strings.Join(known, ", ")))
		case twice && len(problems) < mostProblems:
			problems = append(problems, Wrong(o.At(name), "is given twice", "give it once"))
		case allowed[name]:
			o.values[name] = text[m.ValueStart:m.End]
		}
	}
	return o, errors.Join(problems...)
}

// mostProblems bounds what one object is told.
const mostProblems = 20

// At is the place of a field.
func (o Object) At(name string) string { return strings.TrimPrefix(o.where+"."+name, ".") }

// Get returns the value of a field, nil if it is missing or null.
func (o Object) Get(name string) []byte {
	if v := o.values[name]; string(v) != "null" {
		return v
	}
	return nil
}

// Into decodes a field into a value of Go, which stays as it is where the field
// is missing or null.
func (o Object) Into(name string, to any) error {
	text := o.Get(name)
	if text == nil {
		return nil
	}
	return Decode(o.At(name), text, to)
}

// Decode decodes a value strictly: objects have no fields that to has not.
func Decode(where string, text []byte, to any) error {
	err := strictjson.UnmarshalKnown(text, to)
	if err == nil {
		return nil
	}
	const hint = "the server's OpenAPI document shows its form"
	var wrong *strictjson.Error
	if !errors.As(err, &wrong) {
		return Wrong(where, err.Error(), hint)
	}
	if wrong.Path != "" {
		where += "." + wrong.Path
	}
	return Wrong(where, wrong.What, hint)
}

// Elements returns the elements of a field that is an array; nil if it is
// missing or null. More than most are an error of the kind fault.Exhausted.
func (o Object) Elements(name string, most int) ([][]byte, error) {
	text := o.Get(name)
	if text == nil {
		return nil, nil
	}
	return Elements(o.At(name), text, most)
}

// Elements is Object.Elements for an array that stands elsewhere.
func Elements(where string, text []byte, most int) ([][]byte, error) {
	if text[0] != '[' {
		return nil, Wrong(orBody(where), "must be an array, not "+strictjson.Kind(text), "")
	}
	all, n := jsonspan.Elements(text, most)
	if n > most {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Exhausted, Where: orBody(where), What: fmt.Sprintf("%d elements are more than %d", n, most),
			Hint: "send fewer in a request",
		}
	}
	if all == nil {
		all = [][]byte{} // there, and empty
	}
	return all, nil
}

func orBody(where string) string {
	if where == "" {
		return "body"
	}
	return where
}

// short makes a client's word fit for a message.
func short(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%q", string(r[:most])+"…")
	}
	return s
}
