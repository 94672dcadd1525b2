package shape

import (
	"encoding/json"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/strictjson"
)

// columns are what a request has beside the conversation. They become the
// trajectory's metadata, where rewards find them by name, as the columns of a
// file do.
type columns struct {
	*decoder
	kept map[string]json.RawMessage
}

// add keeps the fields of o except some. The fields of an object that is called
// metadata are columns themselves; one within it is a column, so that nesting
// costs nothing.
func (c *columns) add(where string, o object, except ...string) {
	for _, name := range o.names {
		if slices.Contains(except, name) {
			continue
		}
		value, at := o.values[name], join(where, name)
		if name != "metadata" || value[0] != '{' {
			c.keep(at, name, value)
		} else if inner, ok := c.object(at, value); ok {
			for _, name := range inner.names {
				c.keep(join(at, name), name, inner.values[name])
			}
		}
	}
}

// keep keeps a column, which stands at a place of the request.
func (c *columns) keep(at, name string, value json.RawMessage) {
	if c.kept == nil {
		c.kept = map[string]json.RawMessage{}
	}
	if old, twice := c.kept[name]; twice && string(old) != string(value) {
		c.wrong(at, "it is given twice with different values", "give each field once")
		return
	}
	c.kept[name] = value
}

// present omits null.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// chat reads a list of messages in OpenAI's chat form.
func (d *decoder) chat(where string, raw json.RawMessage) []rl.Message {
	all, ok := d.list(where, raw)
	if !ok {
		return nil
	} else if len(all) == 0 {
		d.wrong(where, "it is empty", "a reward needs a conversation")
	}
	messages := make([]rl.Message, 0, len(all))
	for i, one := range all {
		at := index(where, i)
		var m rl.Message
		if _, ok := d.object(at, one); !ok {
			continue
		} else if err := strictjson.Unmarshal(one, &m); err != nil {
			d.wrong(at, err.Error(), "a message is {\"role\": …, \"content\": …} as in OpenAI's chat API")
			continue
		}
		if m.Role == "" {
			d.wrong(at+".role", "it is missing", "say who speaks: system, user, assistant or tool")
		}
		messages = append(messages, m)
	}
	return messages
}
