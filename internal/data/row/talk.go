package row

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// AsMessages returns the list of messages in value: a list in the chat form or in
// ShareGPT's form (from and value), its text, or an object of lists.
func AsMessages(value []byte) ([]byte, error) {
	text := unquoted(value)
	if !json.Valid(text) {
		return nil, invalid("write them with json.dumps, or map prompt and completion", "the messages are text that is not JSON")
	}
	if text[0] == '{' {
		return Transposed(text), nil
	}
	if text[0] != '[' {
		return text, nil // decoding reports the error
	}
	turns, n := jsonspan.Elements(text, len(text))
	out := []byte{'['}
	for i, turn := range turns {
		spoken, ok := shared(turn)
		if !ok {
			return text, nil
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, spoken...)
	}
	if n == 0 {
		return text, nil
	}
	return append(out, ']'), nil
}

// shared converts a message in ShareGPT's form to the chat form.
func shared(turn []byte) (message []byte, ok bool) {
	if turn[0] != '{' {
		return nil, false
	}
	names := map[string]string{"from": "role", "value": "content"}
	out, found := jsonspan.NewObject(0), 0
	for _, m := range jsonspan.Members(nil, turn) {
		name, value := string(jsonspan.Text(turn[m.KeyStart:m.KeyEnd])), turn[m.ValueStart:m.End]
		if names[name] != "" {
			found++
			name = names[name]
		} else if (name == "role" || name == "content") && !none(value) {
			return nil, false
		} else if name == "role" || name == "content" {
			continue
		}
		out.Add(name, value)
	}
	return out.End(), found == len(names)
}

// Transposed converts an object of lists of equal length, as datasets writes a Sequence of
// a dict, to a list of objects; it returns anything else unchanged.
func Transposed(text []byte) []byte {
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
		o := jsonspan.NewObject(0)
		for k, m := range members {
			o.Add(string(jsonspan.Text(text[m.KeyStart:m.KeyEnd])), columns[k][i])
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, o.End()...)
	}
	return append(out, ']')
}

// none reports whether a row lacks the value.
func none(value []byte) bool { return value == nil || string(value) == "null" }

// Talk returns the members of a row for a prompt and a completion, each of which may be
// nil: the messages, how many of them are the prompt's, and which of the two was text
// instead of a list of messages.
func Talk(prompt, completion []byte) ([]byte, error) {
	first, err := spoken(prompt, Prompt, rl.RoleUser)
	if err != nil {
		return nil, err
	}
	rest, err := spoken(completion, Completion, rl.RoleAssistant)
	if err != nil {
		return nil, err
	}
	n := 1
	if !isText(prompt) {
		_, n = jsonspan.Elements(append(append([]byte{'['}, first...), ']'), 0)
	}
	out := make([]byte, 0, len(first)+len(rest)+128)
	out = append(append(out, `"messages":[`...), first...)
	if len(first) > 0 && len(rest) > 0 {
		out = append(out, ',')
	}
	out = append(append(out, rest...), `],"prompt_messages":`...)
	out = strconv.AppendInt(out, int64(n), 10)
	switch texts := [2]bool{isText(prompt), isText(completion)}; texts {
	case [2]bool{true, true}:
		out = append(out, `,"given_as_text":["prompt","completion"]`...)
	case [2]bool{true, false}:
		out = append(out, `,"given_as_text":["prompt"]`...)
	case [2]bool{false, true}:
		out = append(out, `,"given_as_text":["completion"]`...)
	}
	return out, nil
}

func isText(value []byte) bool { return len(value) > 0 && value[0] == '"' }

// spoken returns the elements of a list of messages: one for a text, or those of a list.
func spoken(value []byte, name, role string) ([]byte, error) {
	if none(value) {
		return nil, nil
	}
	switch value[0] {
	case '"':
		out := append(make([]byte, 0, len(value)+64), `{"role":"`...)
		out = append(append(append(out, role...), `","content":`...), value...)
		return append(out, '}'), nil
	case '[', '{':
		if value[0] == '{' && single(value) {
			return value, nil
		}
		list, err := AsMessages(value)
		if err == nil && list[0] == '[' {
			if inside := bytes.TrimSpace(list[1 : len(list)-1]); len(inside) == 0 || inside[0] == '{' {
				return inside, nil
			}
		}
	}
	return nil, invalid("map a column of texts or of lists of messages", "the %s is neither text nor a list of messages", name)
}

// single reports whether an object is one message.
func single(object []byte) bool {
	role := value(object, jsonspan.Members(nil, object), "role")
	return isText(role)
}

// unquoted returns the content of a JSON string, and other JSON unchanged.
func unquoted(value []byte) []byte {
	if len(value) > 0 && value[0] == '"' {
		return bytes.TrimSpace(jsonspan.Text(value))
	}
	return value
}
