package jsonl

import (
	"bytes"
	"encoding/json"

	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/data/columns"
	"github.com/merit-rl/merit/internal/data/row"
)

// none reports whether a row has no such value.
func none(value []byte) bool { return value == nil || string(value) == "null" }

// structured are the fields that no text can be: where a table has text for
// them, it is their JSON.
var structured = map[string]bool{
	nameMessages: true, nameMetadata: true, "steps": true, "evaluation": true, "reward_notes": true, "seed": true, "bootstrap": true,
	"prompt_messages": true, "given_as_text": true, "own_columns": true, "env_metrics": true,
}

// unfolded returns the object in line with the JSON of the structured fields in
// the place of its text. A text that is not JSON is a column of that name; only
// messages must be what they say. Where all cells are texts, those of a prompt
// and a completion may be lists of messages.
func unfolded(line []byte, structured map[string]bool, spelled bool) ([]byte, error) {
	if !isObject(line) {
		return line, nil
	}
	out := jsonspan.NewObject(len(line))
	for _, m := range jsonspan.Members(nil, line) {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		if structured[name] && value[0] == '"' {
			text := unquoted(value)
			switch {
			case json.Valid(text) && (name != nameMetadata || spelled):
				value = text
			case name == nameMessages:
				return nil, invalid("write it with json.dumps, or as Parquet; what Python's str() and pandas make of a list is not JSON", "column %q is text that is not JSON", name)
			}
		}
		if spelled && (name == namePrompt || name == nameCompletion) {
			value = listed(value)
		}
		if name == nameMessages && value[0] == '{' {
			value = row.Transposed(value)
		}
		out.Add(name, value)
	}
	return out.End(), nil
}

// listed is the list of messages that a cell is the text of, and any other cell
// as it is.
func listed(cell []byte) []byte {
	if text := unquoted(cell); cell[0] == '"' && len(text) > 0 && text[0] == '[' && json.Valid(text) {
		if turns, n := jsonspan.Elements(text, len(text)); n > 0 && isObject(turns[0]) && bytes.Contains(turns[0], []byte(`"role"`)) {
			return text
		}
	}
	return cell
}

var restKey = []byte(`"` + columns.Rest + `"`)

// whole returns the object in line with the members that stand as text in the
// column that keeps what no type fits, without that column, and without nulls:
// these are what a row did not have.
func whole(line []byte) ([]byte, error) {
	if !bytes.Contains(line, restKey) || !isObject(line) {
		return line, nil
	}
	members := jsonspan.Members(nil, line)
	out, found := jsonspan.NewObject(0), false
	for _, m := range members {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		switch {
		case name != columns.Rest && string(value) == "null":
		case name != columns.Rest:
			out.Add(name, value)
		default:
			found = true
			rest := unquoted(value)
			if string(rest) == "null" || len(rest) == 0 {
				continue
			}
			if !isObject(rest) {
				return nil, invalid("write the column as it was", "column %q is not the JSON of an object", columns.Rest)
			}
			for _, m := range jsonspan.Members(nil, rest) {
				out.Add(string(jsonspan.Text(rest[m.KeyStart:m.KeyEnd])), rest[m.ValueStart:m.End])
			}
		}
	}
	if !found {
		return line, nil
	}
	text := out.End()
	return text, once(text)
}

// once refuses an object with a member that is there twice: what the column that keeps the rest says must not take the place
// of what anyone sees in a column of that name.
func once(text []byte) error {
	seen := map[string]bool{}
	for _, m := range jsonspan.Members(nil, text) {
		name := jsonspan.Text(text[m.KeyStart:m.KeyEnd])
		key := string(name)
		if seen[key] {
			return invalid("omit one of them", "%s is given twice, as a column or in %s", name, columns.Rest)
		}
		seen[key] = true
	}
	return nil
}
