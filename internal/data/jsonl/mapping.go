package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/row"
)

// Column maps the column From of each line to the field Name of a trajectory, such as
// ground_truth; a column called Name is then not read as that field. From is a top-level
// column, or a path into objects and lists, such as reward_model.ground_truth or
// choices.0.message. The names prompt and completion mean messages of the user and the
// assistant.
type Column struct{ Name, From string }

// Names of columns that together form the messages.
const (
	namePrompt     = "prompt"
	nameCompletion = "completion"
	nameMessages   = "messages"
)

// nameMap is the name of the column map in settings.
const nameMap = "map"

// ParseColumns parses NAME=COLUMN texts, each of which may contain several separated by
// commas.
func ParseColumns(texts []string) ([]Column, error) {
	var columns []Column
	var problems fault.Problems
	seen := map[string]bool{}
	for _, text := range assignments(texts) {
		name, from, ok := strings.Cut(text, "=")
		problems.Check(ok && name != "" && from != "", nameMap, text, "use NAME=COLUMN, such as ground_truth=answer")
		problems.Check(!seen[name], nameMap, text, "map each field once")
		seen[name] = true
		columns = append(columns, Column{name, from})
	}
	both := seen[nameMessages] && (seen[namePrompt] || seen[nameCompletion])
	problems.Check(!both, nameMap, nameMessages, "map either messages, or prompt and completion")
	problems.Check(!seen[namePrompt] || seen[nameCompletion], nameMap, namePrompt, "also map the column of the answers: completion=COLUMN")
	return columns, errors.Join(problems...)
}

// assignments splits texts at commas; a comma before a part without = belongs to the
// column's name.
func assignments(texts []string) (all []string) {
	for _, text := range texts {
		for i, part := range strings.Split(text, ",") {
			if i > 0 && !strings.Contains(part, "=") {
				all[len(all)-1] += "," + part
				continue
			}
			all = append(all, part)
		}
	}
	return all
}

// renamed returns the object in line with its columns renamed. With lax, a line may lack
// one of the columns. A column that became a field of Merit's stays available under its
// own name.
func renamed(line []byte, columns []Column, lax bool) ([]byte, error) {
	if err := strictjson.Check(line); err != nil || line[0] != '{' {
		return line, nil // decoding reports the error
	}
	var known [32]jsonspan.Member
	members := jsonspan.Members(known[:0], line)
	out := jsonspan.NewObject(len(line) + 128)
	leftOver(&out, line, members, columns)
	own := jsonspan.NewObject(0)
	var prompt, completion []byte
	answered := false
	for i, c := range columns {
		answered = answered || c.Name == nameCompletion
		value := lookup(line, members, c.From)
		if value == nil && !lax {
			return nil, invalid("map another column, or omit the line", "there is no column %q for %s; the columns are: %s",
				c.From, c.Name, strings.Join(Line{Text: line}.Columns(), ", "))
		} else if value == nil {
			continue
		}
		if c.stays() && !slices.ContainsFunc(columns[:i], func(o Column) bool { return o.From == c.From && o.stays() }) {
			own.Add(c.From, value)
		}
		switch c.Name {
		case namePrompt:
			prompt = value
		case nameCompletion:
			completion = value
		case nameMessages:
			value, err := row.AsMessages(value)
			if err != nil {
				return nil, err
			}
			out.Add(c.Name, value)
		default:
			out.Add(c.Name, value)
		}
	}
	if !own.Empty() {
		ownBefore(&own, line, members, columns)
		out.Add(nameOwn, own.End())
	} else if before := lookup(line, members, nameOwn); before != nil {
		out.Add(nameOwn, before)
	}
	if prompt != nil || completion != nil {
		if answered && none(completion) {
			return nil, invalid("omit the line, or map another column", "there is no completion")
		}
		talk, err := row.Talk(prompt, completion)
		if err != nil {
			return nil, err
		}
		out.AddText(talk)
	}
	return out.End(), nil
}

// ownBefore adds the row's own columns as they were before the map: those that Merit
// wrote, or an object called metadata.
func ownBefore(own *jsonspan.Object, line []byte, members []jsonspan.Member, columns []Column) {
	before := lookup(line, members, nameOwn)
	if before == nil {
		metadata := lookup(line, members, nameMetadata)
		if isObject(metadata) && !slices.ContainsFunc(columns, func(c Column) bool { return c.Name == nameMetadata || c.From == nameMetadata }) {
			own.Add(nameMetadata, metadata)
		}
		return
	}
	if !isObject(before) {
		return
	}
	for _, m := range jsonspan.Members(nil, before) {
		name := string(jsonspan.Text(before[m.KeyStart:m.KeyEnd]))
		if !slices.ContainsFunc(columns, func(c Column) bool { return c.From == name }) {
			own.Add(name, before[m.ValueStart:m.End])
		}
	}
}

// leftOver adds the columns that are not in the map, except for the own columns.
func leftOver(out *jsonspan.Object, line []byte, members []jsonspan.Member, columns []Column) {
	for _, m := range members {
		key := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd]))
		if key != nameOwn && !slices.ContainsFunc(columns, func(c Column) bool { return c.takes(key) }) {
			out.Add(key, line[m.ValueStart:m.End])
		}
	}
}

// takes reports whether a column no longer exists: its value has another name, or another
// column has its name.
func (c Column) takes(column string) bool {
	return c.From == column || c.Name == column || column == nameMessages && (c.Name == namePrompt || c.Name == nameCompletion)
}

// stays reports whether a mapped column stays a column: it became a field, unless it is
// the bulk of the row.
func (c Column) stays() bool {
	return (row.IsField(c.Name) || c.Name == namePrompt) && c.Name != nameMessages && !row.IsField(c.From) && !strings.Contains(c.From, ".")
}

// lookup returns the value of a column, or at a path into columns; nil if there is none.
// Text that contains a JSON object counts as an object.
func lookup(line []byte, members []jsonspan.Member, path string) []byte {
	for _, m := range slices.Backward(members) { // the last one counts, as in encoding/json
		if string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])) == path {
			return line[m.ValueStart:m.End]
		}
	}
	for at, rest, ok := cut(path, 0); ok; at, rest, ok = cut(path, len(at)+1) {
		if found := below(unquoted(lookup(line, members, at)), rest); found != nil {
			return found
		}
	}
	return nil
}

// below returns the value at a path into an object or, by index, into a list.
func below(value []byte, path string) []byte {
	if isObject(value) {
		return lookup(value, jsonspan.Members(nil, value), path)
	}
	at, rest, _ := strings.Cut(path, ".")
	n, err := strconv.ParseUint(at, 10, 31)
	if err != nil || len(value) == 0 || value[0] != '[' || !json.Valid(value) {
		return nil
	}
	elements, _ := jsonspan.Elements(value, len(value))
	switch {
	case int(n) >= len(elements):
		return nil
	case rest == "":
		return elements[n]
	}
	return below(unquoted(elements[n]), rest)
}

// cut splits a path at its first point after from.
func cut(path string, from int) (before, after string, ok bool) {
	if from >= len(path) {
		return "", "", false
	}
	i := strings.IndexByte(path[from:], '.')
	if i < 0 {
		return "", "", false
	}
	return path[:from+i], path[from+i+1:], true
}

// unquoted returns the content of a JSON string, and other JSON unchanged.
func unquoted(value []byte) []byte {
	if len(value) > 0 && value[0] == '"' {
		return bytes.TrimSpace(jsonspan.Text(value))
	}
	return value
}
