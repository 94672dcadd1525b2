package rl

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// spoken is a tool call in any of the usual forms.
type spoken struct {
	ID        json.RawMessage  `json:"id"`
	Type      *string          `json:"type"`
	Function  *called          `json:"function"`
	Custom    *called          `json:"custom"` // type custom: its input is free text
	Name      *string          `json:"name"`   // flat
	Arguments *json.RawMessage `json:"arguments"`
	Args      *json.RawMessage `json:"args"` // of LangChain
	Input     *json.RawMessage `json:"input"`
}

type called struct {
	Name      *string          `json:"name"`
	Arguments *json.RawMessage `json:"arguments"`
	Input     *json.RawMessage `json:"input"`
}

const typeFunction = "function"

// setToolCalls reads a list of tool calls. It keeps their JSON if they have more
// than OpenAI's form, or another form.
func (m *Message) setToolCalls(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	if strictjson.UnmarshalKnown(raw, &m.ToolCalls) == nil && usual(m.ToolCalls, raw) {
		return nil
	}
	m.ToolCalls = nil
	var all []spoken
	if err := strictjson.Unmarshal(raw, &all); err != nil {
		return strictjson.At("tool_calls", err)
	}
	for _, s := range all {
		m.ToolCalls = append(m.ToolCalls, s.call())
	}
	if all != nil {
		m.give(Field{"tool_calls", bytes.Clone(raw)})
	}
	return nil
}

// usual reports whether calls hold everything in raw: a missing field differs from
// "".
func usual(calls []ToolCall, raw []byte) bool {
	return len(calls) > 0 && bytes.Count(raw, []byte(`"function"`)) >= len(calls) &&
		bytes.Count(raw, []byte(`"arguments"`)) >= len(calls) && bytes.Count(raw, []byte(`"id"`)) >= len(calls) && bytes.Count(raw, []byte(`"type"`)) >= len(calls)
}

func (s *spoken) call() ToolCall {
	c := ToolCall{ID: argument(&s.ID), Type: typeFunction}
	if s.Type != nil {
		c.Type = *s.Type
	}
	for _, f := range []*called{s.Function, s.Custom, {Name: s.Name, Arguments: s.Arguments, Input: s.Input}, {Arguments: s.Args}} {
		if f == nil {
			continue
		}
		if f.Name != nil && c.Function.Name == "" {
			c.Function.Name = *f.Name
		}
		for _, said := range []*json.RawMessage{f.Arguments, f.Input} {
			if c.Function.Arguments == "" {
				c.Function.Arguments = argument(said)
			}
		}
	}
	return c
}

// argument is a text, or the JSON of any other value without spaces.
func argument(raw *json.RawMessage) string {
	if raw == nil || len(*raw) == 0 || string(*raw) == "null" {
		return ""
	}
	if (*raw)[0] == '"' {
		text, _ := unquoted(*raw)
		return text
	}
	value := jsontext.Value(bytes.Clone(*raw))
	_ = value.Compact(jsontext.AllowInvalidUTF8(true)) // it was decoded, so it is valid
	return string(value)
}
