package jsonl

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/merit-rl/merit/core/jsonspan"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/table/columns"
)

// asMessages returns the list of messages in value: one in the chat form, its
// text, the form of ShareGPT (from and value), or an object of lists.
func asMessages(value []byte) ([]byte, error) {
	text := unquoted(value)
	if !json.Valid(text) {
		return nil, invalid("write them with json.dumps, or map prompt and completion", "the messages are text that is not JSON")
	}
	if text[0] == '{' {
		return transposed(text), nil
	}
	var turns []map[string]json.RawMessage
	if text[0] != '[' || json.Unmarshal(text, &turns) != nil || !shared(turns) {
		return text, nil // decoding says what is wrong with it
	}
	for _, turn := range turns {
		var from string
		if json.Unmarshal(turn["from"], &from) != nil {
			return text, nil
		}
		role, err := json.Marshal(roleOf(from))
		if err != nil {
			return nil, err
		}
		turn["role"], turn["content"] = role, turn["value"]
		delete(turn, "from")
		delete(turn, "value")
	}
	return json.Marshal(turns)
}

// shared reports whether turns are in the form of ShareGPT.
func shared(turns []map[string]json.RawMessage) bool {
	for _, turn := range turns {
		if turn["from"] == nil || turn["value"] == nil || turn["role"] != nil && string(turn["role"]) != "null" {
			return false
		}
	}
	return len(turns) > 0
}

// roleOf is the role of who speaks in ShareGPT; others are roles themselves.
func roleOf(from string) string {
	switch from {
	case "human":
		return rl.RoleUser
	case "gpt", "bot", "chatgpt", "model":
		return rl.RoleAssistant
	case "observation", "function_response", "tool_response":
		return rl.RoleTool
	}
	return from
}

// transposed makes a list of objects of an object of lists that are all as long,
// as datasets writes a Sequence of a dict; anything else stays.
func transposed(text []byte) []byte {
	most := len(text)
	var columns [][][]byte
	members := jsonspan.Members(nil, text)
	for i, m := range members {
		if text[m.ValueStart] != '[' {
			return text
		}
		elements, _ := jsonspan.Elements(text[m.ValueStart:m.End], most)
		if columns = append(columns, elements); len(elements) != len(columns[0]) || i == 0 && len(elements) == 0 {
			return text
		}
	}
	if len(columns) == 0 {
		return text
	}
	out := []byte{'['}
	for i := range columns[0] {
		o := object{text: []byte{'{'}}
		for k, m := range members {
			o.add(string(jsonspan.Text(text[m.KeyStart:m.KeyEnd])), columns[k][i])
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, o.text...), '}')
	}
	return append(out, ']')
}

// none reports whether a row has no such value.
func none(value []byte) bool { return value == nil || string(value) == "null" }

// talk makes messages of a prompt and a completion, each of which may be nil:
// texts, or lists of messages.
func talk(prompt, completion []byte) ([]byte, error) {
	out := []byte{'['}
	for _, said := range []struct {
		value      []byte
		name, role string
	}{{prompt, namePrompt, rl.RoleUser}, {completion, nameCompletion, rl.RoleAssistant}} {
		if none(said.value) {
			continue
		}
		part, err := spoken(said.value, said.name, said.role)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 && len(part) > 0 {
			out = append(out, ',')
		}
		out = append(out, part...)
	}
	return append(out, ']'), nil
}

// spoken is the inside of a list of messages: one of text, or those of a list.
func spoken(value []byte, name, role string) ([]byte, error) {
	switch value[0] {
	case '"':
		o := object{text: []byte{'{'}}
		o.add("role", []byte(`"`+role+`"`))
		o.add("content", value)
		return append(o.text, '}'), nil
	case '[', '{':
		list, err := asMessages(value)
		if err == nil && list[0] == '[' {
			if inside := bytes.TrimSpace(list[1 : len(list)-1]); len(inside) == 0 || inside[0] == '{' {
				return inside, nil
			}
		}
	}
	return nil, invalid("map a column of texts or of lists of messages", "the %s is neither text nor a list of messages", name)
}

// structured are the fields that no text can be: where a table has text for
// them, it is their JSON.
var structured = map[string]bool{
	nameMessages: true, "metadata": true, "steps": true, "evaluation": true, "reward_notes": true, "seed": true, "bootstrap": true,
}

// unfolded returns the object in line with the JSON of the structured fields in
// the place of its text.
func unfolded(line []byte, structured map[string]bool) ([]byte, error) {
	if !isObject(line) {
		return line, nil
	}
	out := object{text: make([]byte, 0, len(line))}
	out.text = append(out.text, '{')
	for _, m := range jsonspan.Members(nil, line) {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		if structured[name] && value[0] == '"' {
			text := unquoted(value)
			if !json.Valid(text) {
				return nil, invalid("write it with json.dumps, or as Parquet; what Python's str() and pandas make of a list is not JSON", "column %q is text that is not JSON", name)
			}
			value = text
		}
		if name == nameMessages && value[0] == '{' {
			value = transposed(value)
		}
		out.add(name, value)
	}
	return append(out.text, '}'), nil
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
	out, found := object{text: []byte{'{'}}, false
	for _, m := range members {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		switch {
		case name != columns.Rest && string(value) == "null":
		case name != columns.Rest:
			out.add(name, value)
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
				out.add(string(jsonspan.Text(rest[m.KeyStart:m.KeyEnd])), rest[m.ValueStart:m.End])
			}
		}
	}
	if !found {
		return line, nil
	}
	out.text = append(out.text, '}')
	return out.text, once(out.text)
}

// once refuses an object with a member that is there twice, or with two names
// of one field: what the column that keeps the rest says must not take the place
// of what anyone sees in a column of that name.
func once(text []byte) error {
	seen := map[string]bool{}
	for _, m := range jsonspan.Members(nil, text) {
		name := jsonspan.Text(text[m.KeyStart:m.KeyEnd])
		key := string(name)
		if isField(name) {
			key = strings.ToLower(key)
		}
		if seen[key] {
			return invalid("omit one of them", "%s is given twice, as a column or in %s", name, columns.Rest)
		}
		seen[key] = true
	}
	return nil
}
