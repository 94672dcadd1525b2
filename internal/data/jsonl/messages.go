package jsonl

import (
	"bytes"
	"encoding/json"

	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/data/columns"
	"github.com/merit-rl/merit/internal/data/row"
)

// none reports whether a row lacks the value.
func none(value []byte) bool { return value == nil || string(value) == "null" }

// structured lists the fields that cannot be text: if a table has text for them, it is
// their JSON.
var structured = map[string]bool{
	nameMessages: true, nameMetadata: true, "steps": true, "evaluation": true, "reward_notes": true, "seed": true, "bootstrap": true,
	"prompt_messages": true, "given_as_text": true, "own_columns": true, "env_metrics": true, "branch_at": true,
}

// unfolded returns the object in line with the text of structured fields replaced by the
// JSON in it. Text that is not JSON stays as a column, except that messages must be JSON.
// If all cells are text, the prompt and the completion may also be lists of
// messages.
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
				return nil, invalid("write it with json.dumps, or as Parquet; lists printed by Python's str() or pandas are not JSON", "column %q is text that is not JSON", name)
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

// listed returns the list of messages in the text of a cell, and any other cell
// unchanged.
func listed(cell []byte) []byte {
	if text := unquoted(cell); cell[0] == '"' && len(text) > 0 && text[0] == '[' && json.Valid(text) {
		if turns, n := jsonspan.Elements(text, len(text)); n > 0 && isObject(turns[0]) && bytes.Contains(turns[0], []byte(`"role"`)) {
			return text
		}
	}
	return cell
}

var restKey = []byte(`"` + columns.Rest + `"`)

// whole returns the object in line with the members of the Rest column added, without
// that column, and without nulls, which mean that the row did not have the
// column.
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
				return nil, invalid("restore the original value of the column", "column %q is not the JSON of an object", columns.Rest)
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

// once returns an error if an object has a duplicate member, because a member of the Rest
// column must not hide the value in the column of that name.
func once(text []byte) error {
	seen := map[string]bool{}
	for _, m := range jsonspan.Members(nil, text) {
		name := jsonspan.Text(text[m.KeyStart:m.KeyEnd])
		key := string(name)
		if seen[key] {
			return invalid("omit one of them", "%s is given twice, as a column and in %s", name, columns.Rest)
		}
		seen[key] = true
	}
	return nil
}
