package rl

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// UnmarshalJSON reads a message in OpenAI's form or an equivalent known form.
func (m *Message) UnmarshalJSON(data []byte) error {
	return strictjson.Unmarshal(data, (*decoded)(m))
}

// decoded is a message for the strict decoder alone.
type decoded Message

// UnmarshalJSONFrom implements the strict decoder's interface.
func (m *decoded) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return (*Message)(m).UnmarshalJSONFrom(d)
}

// UnmarshalJSONFrom reads a message from a decoder of package strictjson.
func (m *Message) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = Message{}
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	} else if d.PeekKind() != '{' {
		value, err := d.ReadValue()
		if err == nil {
			err = fmt.Errorf("a message must be an object, not %.20s", value)
		}
		return err
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	m.Content.parts = absent // until there is a content
	for d.PeekKind() != '}' {
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		if set := m.setter(raw); set != nil {
			if raw, err = d.ReadValue(); err == nil {
				err = set(m, raw)
			}
		} else {
			err = m.field(raw, d)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return m.settle(err)
}

// setter returns the function that reads the field of that name, a JSON string;
// nil for fields that Merit only keeps.
func (m *Message) setter(name []byte) func(*Message, []byte) error {
	switch string(name) {
	case `"role"`:
		return (*Message).setRole
	case `"content"`:
		return (*Message).setContent
	case `"tool_calls"`:
		return (*Message).setToolCalls
	case `"name"`:
		return func(m *Message, raw []byte) error { return text(&m.Name, "name", raw) }
	case `"tool_call_id"`:
		return func(m *Message, raw []byte) error { return text(&m.ToolCallID, "tool_call_id", raw) }
	}
	return nil
}

func (m *Message) setRole(raw []byte) error {
	if err := text(&m.Role, "role", raw); err != nil {
		return err
	}
	if role, _ := Role(m.Role); role != m.Role {
		m.give(Field{"role", bytes.Clone(raw)})
		m.Role = role
	}
	return nil
}

func (m *Message) setContent(raw []byte) error {
	return strictjson.At("content", m.Content.UnmarshalJSON(raw))
}

// text reads a field that is text; null is none.
func text(to *string, name string, raw []byte) (err error) {
	switch {
	case raw[0] == '"':
		*to, err = unquoted(raw)
		return err
	case string(raw) == "null":
		return nil
	}
	return &strictjson.Error{Path: name, What: "must not be " + strictjson.Kind(raw), Kind: strictjson.Kind(raw)}
}

// field keeps a field that Merit does not read. Escapes in a name do not hide a
// field that Merit reads.
func (m *Message) field(name []byte, d *jsontext.Decoder) error {
	plain, err := unquoted(name)
	if err != nil {
		return err
	}
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		if set := m.setter(appendText(nil, plain)); set != nil {
			return set(m, value)
		}
	}
	more := m.more()
	more.Fields = append(more.Fields, Field{plain, bytes.Clone(value)})
	return nil
}

// settle reads what replaces the content if there is none: the parts of Gemini's
// messages.
func (m *Message) settle(err error) error {
	if err != nil || len(m.Fields()) == 0 || !m.Content.Absent() {
		return err
	}
	for i, f := range m.Fields() {
		if f.Name == "parts" && f.Value[0] == '[' && m.Content.UnmarshalJSON(f.Value) == nil {
			m.give(f)
			m.More.Fields = append(m.More.Fields[:i:i], m.More.Fields[i+1:]...)
			return nil
		}
	}
	return nil
}

// MarshalJSON writes the message in its original form.
func (m Message) MarshalJSON() ([]byte, error) {
	raw := m.Content.raw()
	out := make([]byte, 0, len(m.Content.text)+len(m.Content.text)/16+len(raw)+96)
	var err error
	out = append(out, `{"role":`...)
	if given := m.given("role"); given != nil {
		out = append(out, given...)
	} else {
		out = appendText(out, m.Role)
	}
	switch given := m.given("parts"); {
	case given != nil:
		out = append(append(out, `,"parts":`...), given...)
	case raw != nil:
		out = append(append(out, `,"content":`...), raw...)
	default:
		out = appendText(append(out, `,"content":`...), m.Content.text)
	}
	if m.Name != "" {
		out = appendText(append(out, `,"name":`...), m.Name)
	}
	if given := m.given("tool_calls"); given != nil {
		out = append(append(out, `,"tool_calls":`...), given...)
	} else if len(m.ToolCalls) > 0 {
		var calls []byte
		calls, err = json.Marshal(m.ToolCalls)
		out = append(append(out, `,"tool_calls":`...), calls...)
	}
	if m.ToolCallID != "" {
		out = appendText(append(out, `,"tool_call_id":`...), m.ToolCallID)
	}
	for _, f := range m.Fields() {
		out = append(appendText(append(out, ','), f.Name), ':')
		out = append(out, f.Value...)
	}
	return append(out, '}'), err
}

func (m *Message) give(f Field) {
	more := m.more()
	more.Given = append(more.Given, f)
}

func (m *Message) given(name string) json.RawMessage {
	for _, f := range m.Given() {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}
