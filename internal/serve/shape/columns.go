package shape

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/row"
)

// columns are the fields of a request besides the conversation. Rewards access them by name,
// like the columns of a file.
type columns struct {
	*decoder
	kept object
}

// add keeps all fields of o but those in except.
func (c *columns) add(where string, o object, except ...string) {
	for _, name := range o.names {
		if !slices.Contains(except, name) {
			c.keep(join(where, name), name, o.values[name])
		}
	}
}

// keep keeps a column; at is its place in the request.
func (c *columns) keep(at, name string, value json.RawMessage) {
	if c.kept.values == nil {
		c.kept.values = map[string]json.RawMessage{}
	}
	old, twice := c.kept.values[name]
	if twice && string(old) != string(value) {
		c.wrong(at, "the field is given twice with different values", "give each field once")
	}
	if !twice {
		c.kept.names = append(c.kept.names, name)
		c.kept.values[name] = value
	}
}

// take removes a column and returns its value, or nil if it does not exist.
func (c *columns) take(name string) json.RawMessage {
	value := c.kept.values[name]
	c.kept.names = slices.DeleteFunc(c.kept.names, func(n string) bool { return n == name })
	delete(c.kept.values, name)
	return value
}

// present returns raw, or nil if raw is null.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// made is a row made from a request. Package row decodes it to a trajectory. Nil fields are
// omitted.
type made struct {
	id                 string // name of the row in messages
	messages           json.RawMessage
	prompt, completion json.RawMessage // used instead of messages
	asked              *int            // number of messages that belong to the prompt
	text               rl.AsText
	truth              json.RawMessage
	columns            object
}

// row decodes a row with package row and notes its problems.
func (d *decoder) row(m made) *rl.Trajectory {
	o := object{values: map[string]json.RawMessage{}}
	add := func(name string, value json.RawMessage) {
		if value != nil {
			o.names, o.values[name] = append(o.names, name), value
		}
	}
	add(row.Messages, m.messages)
	add(row.Prompt, m.prompt)
	add(row.Completion, m.completion)
	if m.asked != nil {
		add("prompt_messages", strconv.AppendInt(nil, int64(*m.asked), 10))
	}
	if m.text != 0 {
		words, _ := m.text.MarshalJSON() // never fails
		add("given_as_text", words)
	}
	add(row.Truth, m.truth)
	add("columns", m.columns.json())
	t, err := row.DecodeRequest(o.json(), 1)
	if f := fault.As(err); f != nil {
		d.wrong(m.id, f.What, f.Hint)
		return nil
	}
	t.ID, t.Unnamed, t.Ungrouped = m.id, true, true
	return t
}

// chat decodes a list of messages in OpenAI's chat format.
func (d *decoder) chat(where string, raw json.RawMessage) []rl.Message {
	all, ok := d.list(where, raw)
	if !ok {
		return nil
	} else if len(all) == 0 {
		d.wrong(where, "the list is empty", "send a conversation")
	}
	messages := make([]rl.Message, 0, len(all))
	for i, one := range all {
		at := index(where, i)
		var m rl.Message
		if _, ok := d.object(at, one); !ok {
			continue
		} else if err := strictjson.Unmarshal(one, &m); err != nil {
			d.wrong(at, err.Error(), "send messages as {\"role\": …, \"content\": …}, as in OpenAI's chat API")
			continue
		}
		if m.Role == "" {
			d.wrong(at+".role", "the role is missing", "use system, user, assistant or tool")
		}
		messages = append(messages, m)
	}
	return messages
}
