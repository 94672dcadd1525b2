package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
)

// Result is the answer of a tool.
type Result struct {
	Text    string          `json:"text"`               // what a model reads
	IsError bool            `json:"is_error,omitempty"` // the tool reports that it failed
	Value   json.RawMessage `json:"value,omitempty"`    // the structured content; nil if there is none
}

// block is a part of the content of a result.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIME     string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource *struct {
		URI  string  `json:"uri"`
		MIME string  `json:"mimeType"`
		Text *string `json:"text"`
		Blob string  `json:"blob"`
	} `json:"resource"`
}

// DecodeResult decodes the result of tools/call. Text has at most most bytes. Pictures, sound
// and binary resources become a line that says what they are.
func DecodeResult(result json.RawMessage, most int) (*Result, error) {
	var said struct {
		Type    string          `json:"resultType"`
		Content []block         `json:"content"`
		Value   json.RawMessage `json:"structuredContent"`
		IsError *bool           `json:"isError"`
	}
	if err := strictjson.Unmarshal(result, &said); err != nil {
		return nil, errors.New("the answer to tools/call is not a result of a tool")
	}
	if said.Type != "" && said.Type != "complete" {
		return nil, fmt.Errorf("the answer to tools/call has the type %.40q: the server wants an answer of a person, which Merit does not give", said.Type)
	}
	r := &Result{IsError: said.IsError != nil && *said.IsError}
	if len(said.Value) > 0 && string(said.Value) != "null" && len(said.Value) <= most {
		value, err := Canonical(said.Value)
		if err != nil {
			return nil, fmt.Errorf("the structured content: %w", err)
		}
		r.Value = value
	}
	var parts []string
	for _, b := range said.Content {
		parts = append(parts, b.shown())
	}
	r.Text = strings.Join(parts, "\n")
	if len(parts) == 0 && len(said.Value) > 0 {
		r.Text = string(said.Value)
	}
	r.Text = Shorten(r.Text, most)
	return r, nil
}

// shown returns a part as text.
func (b *block) shown() string {
	switch {
	case b.Type == "text":
		return b.Text
	case b.Type == "resource_link":
		return fmt.Sprintf("[resource %s %s]", b.Name, b.URI)
	case b.Resource != nil && b.Resource.Text != nil:
		return *b.Resource.Text
	case b.Resource != nil:
		return fmt.Sprintf("[resource %s %s, %d bytes of base64]", b.Resource.URI, b.Resource.MIME, len(b.Resource.Blob))
	}
	return fmt.Sprintf("[%s %s, %d bytes of base64]", b.Type, b.MIME, len(b.Data))
}

// Shorten returns text with at most most bytes. What is cut is counted at the end.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	note := fmt.Sprintf("\n[… %d bytes in all]", len(text))
	return wire.Cut(text, max(0, most-len(note))) + note
}

// Encode returns r as the result of tools/call.
func (r *Result) Encode() map[string]any {
	m := map[string]any{"content": []any{map[string]any{"type": "text", "text": r.Text}}, "isError": r.IsError}
	if r.Value != nil {
		m["structuredContent"] = r.Value
	}
	return m
}

// Canonical returns JSON in the one form that equal values share: keys in order, no spaces,
// and numbers written as briefly as possible.
func Canonical(text json.RawMessage) (json.RawMessage, error) {
	if err := Check(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	v, err := brief(v)
	if err != nil {
		return nil, err
	}
	return Marshal(v), nil
}

var whole = regexp.MustCompile(`^-?[0-9]{1,30}$`)

// brief rewrites the numbers in v.
func brief(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if whole.MatchString(v.String()) && v != "-0" {
			return v, nil
		}
		f, err := v.Float64()
		if err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("the number %.40s is too large", v.String())
		}
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10)), nil
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
	case []any:
		for i := range v {
			if v[i], err = brief(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = brief(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
