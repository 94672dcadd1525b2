package rl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Roles of a chat message. Other roles are legal and pass through unchanged.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one turn of a conversation in OpenAI's chat form.
type Message struct {
	Role       string     `json:"role"`
	Content    Content    `json:"content"`
	Name       string     `json:"name,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// ToolCall is a request of the assistant to run a tool.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function FunctionCall `json:"function"`
}

// FunctionCall names the function of a ToolCall. Arguments is JSON text as the
// model wrote it, valid or not.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Content is the content of a message: a string, null, or the list-of-parts
// form. The zero value is the empty string. A list is kept byte for byte, so
// parts that Merit does not read (images, audio) survive a round trip.
type Content struct {
	text  string
	parts json.RawMessage // list form as it came, or "null"; nil for a string
}

// Text makes the string form of a Content.
func Text(s string) Content { return Content{text: s} }

// Text returns the text of c: the string itself, or the text parts of a list
// joined in order with nothing between them.
func (c Content) Text() string { return c.text }

// Parts returns the JSON of the list form as it came, and nil for a string or
// null.
func (c Content) Parts() json.RawMessage {
	if c.IsNull() {
		return nil
	}
	return c.parts
}

// IsNull reports whether the content was JSON null, as assistant messages that
// only call tools have it.
func (c Content) IsNull() bool { return string(c.parts) == "null" }

// MarshalJSON writes the form that c was read from.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.parts != nil {
		return c.parts, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // conversations are full of < and &, and no page embeds these files
	err := enc.Encode(c.text)
	return b.Bytes(), err
}

// UnmarshalJSON reads a string, null or a list of parts.
func (c *Content) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "null":
		*c = Content{parts: json.RawMessage("null")}
		return nil
	case len(data) > 0 && data[0] == '"':
		*c = Content{}
		if text, ok := unquoted(data); ok {
			c.text = text
			return nil
		}
		return json.Unmarshal(data, &c.text)
	case len(data) > 0 && data[0] == '[':
		return c.unmarshalParts(data)
	}
	return fmt.Errorf("message content must be a string, null or a list of parts, not %.20s", data)
}

// unquoted is the text of a JSON string that is valid, as encoding/json has
// found out before it asks: to check it again would take as long as all the
// rest of decoding a conversation. It is false where encoding/json does more
// than to copy: for \u and bytes that are not UTF-8.
func unquoted(data []byte) (text string, ok bool) {
	if len(data) < 2 || data[len(data)-1] != '"' || !utf8.Valid(data) {
		return "", false
	}
	rest := data[1 : len(data)-1]
	var b strings.Builder
	b.Grow(len(rest))
	for {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			b.Write(rest)
			return b.String(), true
		}
		if at+1 >= len(rest) {
			return "", false
		}
		b.Write(rest[:at])
		said := strings.IndexByte(`"\/bfnrt`, rest[at+1])
		if said < 0 {
			return "", false
		}
		b.WriteByte("\"\\/\b\f\n\r\t"[said])
		rest = rest[at+2:]
	}
}

func (c *Content) unmarshalParts(data []byte) error {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("message content parts: %w", err)
	}
	var text strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			text.WriteString(p.Text)
		}
	}
	*c = Content{text: text.String(), parts: bytes.Clone(data)}
	return nil
}
