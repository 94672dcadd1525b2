package interchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// change says how one JSON value becomes another. At most one of Is, Set and Drop, and At
// and Length is in use; a change without any of them is none.
type change struct {
	Is     json.RawMessage    `json:"is,omitempty"`     // the value itself
	Set    map[string]*change `json:"set,omitempty"`    // members of an object that change
	Drop   []string           `json:"drop,omitempty"`   // members that it does not have
	At     map[int]*change    `json:"at,omitempty"`     // elements of a list that change
	Length *int               `json:"length,omitempty"` // of the list, if that changes
}

// difference returns the change from one valid JSON value to another; nil if they are the
// same value. Numbers are the same if they have the same value, however they are spelled.
func difference(from, to []byte) *change {
	switch both := len(from) > 0 && from[0] == to[0]; {
	case bytes.Equal(from, to), sameNumber(from, to):
		return nil
	case both && from[0] == '{':
		return members(from, to)
	case both && from[0] == '[':
		return elements(from, to)
	case both && from[0] == '"' && bytes.Equal(jsonspan.Text(from), jsonspan.Text(to)):
		return nil
	}
	return &change{Is: bytes.Clone(to)}
}

func members(from, to []byte) *change {
	c := &change{Set: map[string]*change{}}
	before, after := object(from), object(to)
	for _, name := range after.names {
		if d := difference(before.values[name], after.values[name]); d != nil {
			c.Set[name] = d
		}
	}
	for _, name := range before.names {
		if after.values[name] == nil {
			c.Drop = append(c.Drop, name)
		}
	}
	switch {
	case len(c.Set)+len(c.Drop) == 0:
		return nil
	case flat(after) && !slices.Equal(c.order(before), after.names):
		return &change{Is: bytes.Clone(to)}
	}
	return c
}

// order returns the names of the members after the change, in the order that apply gives them.
func (c *change) order(before fields) (names []string) {
	for _, name := range before.names {
		if !slices.Contains(c.Drop, name) {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if before.values[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// flat reports whether no member is a list or an object: such an object is short enough to be
// given whole.
func flat(f fields) bool {
	for _, v := range f.values {
		if v[0] == '{' || v[0] == '[' {
			return false
		}
	}
	return true
}

func elements(from, to []byte) *change {
	before, after := list(from), list(to)
	c := &change{At: map[int]*change{}}
	for i, v := range after {
		var was []byte
		if i < len(before) {
			was = before[i]
		}
		if d := difference(was, v); d != nil {
			c.At[i] = d
		}
	}
	if len(before) != len(after) {
		c.Length = new(len(after))
	}
	switch {
	case c.Length == nil && len(c.At) == 0:
		return nil
	case len(after) == 0 || plainList(after) && len(c.At) > len(after)/4:
		return &change{Is: bytes.Clone(to)}
	}
	return c
}

// plainList reports whether no element is a list or an object: a change of most elements is
// then longer than the list.
func plainList(all [][]byte) bool {
	for _, v := range all {
		if v[0] == '{' || v[0] == '[' {
			return false
		}
	}
	return true
}

// sameNumber reports whether both are numbers with one value.
func sameNumber(a, b []byte) bool {
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	if errX != nil || errY != nil || x != y {
		return false
	}
	const exact = 1 << 53
	return x > -exact && x < exact || bytes.ContainsAny(a, ".eE") && bytes.ContainsAny(b, ".eE")
}

// apply returns the value that c makes of from.
func (c *change) apply(from []byte) ([]byte, error) {
	switch {
	case c == nil:
		return from, nil
	case c.Is != nil:
		return c.Is, nil
	case c.At != nil || c.Length != nil:
		return c.applyList(from)
	case c.Set != nil || c.Drop != nil:
		return c.applyObject(from)
	}
	return from, nil
}

func (c *change) applyObject(from []byte) ([]byte, error) {
	if len(from) == 0 || from[0] != '{' {
		return nil, errors.New("it changes an object, which is not there")
	}
	drop := map[string]bool{}
	for _, name := range c.Drop {
		drop[name] = true
	}
	out := jsonspan.NewObject(len(from))
	was := object(from)
	names := was.names
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if was.values[name] == nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if drop[name] {
			continue
		}
		value, err := c.Set[name].apply(was.values[name])
		if err == nil && value == nil {
			err = errors.New("it has no value")
		}
		if err != nil {
			return nil, strictjson.At(name, err)
		}
		out.Add(name, value)
	}
	return out.End(), nil
}

func (c *change) applyList(from []byte) ([]byte, error) {
	if len(from) == 0 || from[0] != '[' {
		return nil, errors.New("it changes a list, which is not there")
	}
	all := list(from)
	n := len(all)
	if c.Length != nil {
		n = *c.Length
	}
	if n < 0 || n > len(all)+len(c.At) {
		return nil, fmt.Errorf("it makes a list of %d elements from %d", n, len(all))
	}
	out := []byte{'['}
	for i := range n {
		var was []byte
		if i < len(all) {
			was = all[i]
		}
		value, err := c.At[i].apply(was)
		if err == nil && value == nil {
			err = errors.New("it has no value")
		}
		if err != nil {
			return nil, strictjson.At(fmt.Sprintf("[%d]", i), err)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']'), nil
}

// fields are the members of a JSON object, by name and in order.
type fields struct {
	names  []string
	values map[string][]byte
}

// object returns the members of a valid JSON object; none of another value.
func object(text []byte) fields {
	f := fields{values: map[string][]byte{}}
	if len(text) == 0 || text[0] != '{' {
		return f
	}
	for _, m := range jsonspan.Members(nil, text) {
		name := string(jsonspan.Text(text[m.KeyStart:m.KeyEnd]))
		f.names = append(f.names, name)
		f.values[name] = text[m.ValueStart:m.End]
	}
	return f
}

// text returns the object that has these members.
func (f fields) text() []byte {
	out := jsonspan.NewObject(256)
	for _, name := range f.names {
		out.Add(name, f.values[name])
	}
	return out.End()
}

// set replaces or adds a member; nil removes it.
func (f *fields) set(name string, value []byte) {
	switch before := f.values[name]; {
	case value == nil:
		f.names = slices.DeleteFunc(f.names, func(n string) bool { return n == name })
		delete(f.values, name)
		return
	case before == nil:
		f.names = append(f.names, name)
	}
	f.values[name] = value
}

// list returns the elements of a valid JSON list; none of another value.
func list(text []byte) [][]byte {
	if len(text) == 0 || text[0] != '[' {
		return nil
	}
	all, _ := jsonspan.Elements(text, len(text))
	return all
}

// joined returns the list of these values.
func joined(all [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(all, []byte(","))...), ']')
}
