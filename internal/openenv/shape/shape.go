// Package shape is the protocol of OpenEnv servers (the PyPI package openenv,
// 0.10) as functions of bytes: the messages of a session over WebSocket, the
// bodies of the same over HTTP, and what a server says of itself. It knows no
// connection; the client and the server of this repository share it.
//
// What is decoded comes from strangers. Callers bound its size; here its depth,
// its numbers and its encoding are checked.
package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The types of messages.
const (
	Reset       = "reset"       // begin an episode; data is its parameters
	Step        = "step"        // data is the action
	State       = "state"       // ask for, or give, what the session is in
	Close       = "close"       // end the session
	MCP         = "mcp"         // data is a JSON-RPC request, or its response
	Observation = "observation" // answers reset and step; data is a Result
	Error       = "error"       // data is a Failure
)

// maxDepth is how many lists and objects may be inside of each other.
const maxDepth = 64

// Message is what either side sends.
type Message struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Encode writes a message. Data that has no form in JSON is a bug of the caller.
func Encode(kind string, data any) []byte {
	raw, ok := data.(json.RawMessage)
	if !ok && data != nil {
		raw = marshal(data)
	}
	return marshal(Message{Type: kind, Data: raw})
}

// marshal writes v without escapes for HTML, which no reader here needs.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Decode reads a message. What is wrong with it is a *Failure.
func Decode(text []byte) (Message, error) {
	var m Message
	if err := check(text); err != nil {
		return m, &Failure{Code: InvalidJSON, Message: "Invalid JSON: " + err.Error()}
	}
	var kind struct {
		Type json.RawMessage `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if strictjson.Unmarshal(text, &kind) != nil {
		return m, &Failure{Code: ValidationError, Message: "Invalid message: not an object with a type"}
	}
	if len(kind.Type) > 0 && strictjson.Unmarshal(kind.Type, &m.Type) != nil {
		return m, &Failure{Code: ValidationError, Message: "Invalid message: its type is not a text"}
	}
	m.Data = kind.Data
	return m, nil
}

// check holds bytes to being one value of JSON in UTF-8 that is not nested too
// deep.
func check(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not UTF-8")
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("nested more than %d deep", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return strictjson.Check(text)
}
