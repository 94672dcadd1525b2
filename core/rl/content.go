package rl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Content is the content of a message: a string, null, or the list-of-parts
// form. The zero value is the empty string. A list is kept byte for byte, so
// parts that Merit does not read (images, audio) survive a round trip.
type Content struct {
	text  string
	parts *json.RawMessage // the unchanged list form, null or absent; nil for a string, as most contents are
}

// The values that all contents of a kind share.
var (
	null   = &json.RawMessage{'n', 'u', 'l', 'l'}
	absent = &json.RawMessage{}
)

// Text returns a Content in string form.
func Text(s string) Content { return Content{text: s} }

// Text returns the text of c: the string itself, or the text parts of a list
// joined in order with nothing between them.
func (c Content) Text() string { return c.text }

// Parts returns the unchanged JSON of the list form, and nil for a string or null.
func (c Content) Parts() json.RawMessage {
	if c.IsNull() {
		return nil
	}
	return c.raw()
}

// Absent reports whether the message that was read had no content at all. Its
// text is empty, and it is written as that.
func (c Content) Absent() bool { return c.parts == absent }

// IsNull reports whether the content was JSON null, as assistant messages that
// only call tools have it.
func (c Content) IsNull() bool { return c.parts == null }

// raw returns the JSON of content that is not a string; nil if it is a string or absent.
func (c Content) raw() json.RawMessage {
	if c.parts == nil || c.Absent() {
		return nil
	}
	return *c.parts
}

// MarshalJSON writes the form that c was read from.
func (c Content) MarshalJSON() ([]byte, error) {
	if raw := c.raw(); raw != nil {
		return raw, nil
	}
	return appendText(nil, c.text), nil
}

// UnmarshalJSON reads a string, null or a list of parts.
func (c *Content) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "null":
		*c = Content{parts: null}
		return nil
	case len(data) > 0 && data[0] == '"':
		text, err := unquoted(data)
		*c = Content{text: text}
		return err
	case len(data) > 0 && data[0] == '[':
		return c.unmarshalParts(data)
	}
	return &strictjson.Error{What: fmt.Sprintf("must be a string, null or a list of parts, not %.20s", data)}
}

// unquoted is the text of a JSON string that is valid. Most text has short
// escapes only, and is copied in pieces.
func unquoted(data []byte) (string, error) {
	rest := data[1 : len(data)-1]
	if bytes.IndexByte(rest, '\\') < 0 && utf8.Valid(rest) {
		return string(rest), nil
	}
	if text, ok := shortly(rest); ok {
		return text, nil
	}
	text, err := jsontext.AppendUnquote(nil, data)
	if len(text) > 0 {
		err = nil // what is not Unicode became U+FFFD
	}
	return string(text), err
}

// shortly returns false if copying is not enough: for \u and bytes that are not
// UTF-8.
func shortly(rest []byte) (text string, ok bool) {
	if !utf8.Valid(rest) {
		return "", false
	}
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

// Part is what Merit reads of a part of a content in list form.
type Part struct {
	Type    string
	Text    string
	Speaks  bool // the text is part of what the message says
	HasText bool
}

// UnmarshalJSON reads the type and the text of a part.
func (p *Part) UnmarshalJSON(data []byte) error {
	var read struct {
		Type    *string `json:"type"`
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
	}
	if err := strictjson.Unmarshal(data, &read); err != nil {
		return err
	}
	*p = Part{}
	if read.Type != nil {
		p.Type = *read.Type
	}
	text := read.Text
	if p.Type == "refusal" && text == nil {
		text = read.Refusal
	}
	if p.HasText = text != nil; p.HasText {
		p.Text = *text
	}
	p.Speaks = p.HasText && speaking[p.Type]
	return nil
}

// speaking are the types of parts whose text is what the message says. A part
// without a type, as Gemini has it, is text.
var speaking = map[string]bool{"text": true, "output_text": true, "input_text": true, "refusal": true, "": true}

// KnownPart reports whether Merit knows the type of a part: text that is said,
// reasoning, or something that is not text.
func KnownPart(kind string) bool { return speaking[kind] || wordless[kind] }

// SpeakingPart reports whether parts of that type are text of the message.
func SpeakingPart(kind string) bool { return speaking[kind] }

// wordless are the known types of parts that contain no text of the message.
var wordless = map[string]bool{
	"reasoning": true, "thinking": true, "redacted_thinking": true, "reasoning_text": true, "summary_text": true,
	"image": true, "image_url": true, "input_image": true, "output_image": true, "image_file": true,
	"audio": true, "audio_url": true, "input_audio": true, "output_audio": true, "video": true, "video_url": true, "input_video": true,
	"file": true, "input_file": true, "document": true, "generic": true,
	"tool_use": true, "tool_result": true, "tool_call": true, "function_call": true, "function_response": true, "functionCall": true, "functionResponse": true,
}

func (c *Content) unmarshalParts(data []byte) error {
	var parts []Part
	if err := strictjson.Unmarshal(data, &parts); err != nil {
		return err
	}
	var text strings.Builder
	for _, p := range parts {
		if p.Speaks {
			text.WriteString(p.Text)
		}
	}
	raw := json.RawMessage(bytes.Clone(data))
	*c = Content{text: text.String(), parts: &raw}
	return nil
}

// appendText appends a JSON string. It does not escape < and &, which are frequent
// in conversations, because no HTML page embeds these files.
func appendText(to []byte, text string) []byte {
	if utf8.ValidString(text) && !strings.Contains(text, "\u2028") && !strings.Contains(text, "\u2029") {
		if to, err := jsontext.AppendQuote(to, text); err == nil {
			return to
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string has no error
	return append(to, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
