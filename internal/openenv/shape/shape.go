// Package shape encodes and decodes the protocol of OpenEnv servers (the PyPI package
// openenv, 0.10): the messages of a session over WebSocket, the equivalent bodies over
// HTTP, and a server's description. It does not use the network; the client and the
// server of this repository share it.
// connection; the client and the server of this repository share it.
// The input is untrusted. Callers limit its size; this package checks depth, numbers and
// encoding.
// its numbers and its encoding are checked.
package shape

import (
	"bytes"
	"encoding/json"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The types of messages.
const (
	Reset       = "reset"       // starts an episode; data is its parameters
	Step        = "step"        // data is the action
	State       = "state"       // requests or returns the state of the session
	Close       = "close"       // ends the session
	MCP         = "mcp"         // data is a JSON-RPC request, or its response
	Observation = "observation" // answers reset and step; data is a Result
	Error       = "error"       // data is a Failure
)

// maxDepth is the maximum nesting of lists and objects.
const maxDepth = 64

// Message is a message of either side.
type Message struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Encode encodes a message. It panics if data has no JSON form.
func Encode(kind string, data any) []byte {
	raw, ok := data.(json.RawMessage)
	if !ok && data != nil {
		raw = marshal(data)
	}
	return marshal(Message{Type: kind, Data: raw})
}

// marshal encodes v without HTML escaping.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Decode decodes a message. Errors are a *Failure.
func Decode(text []byte) (Message, error) {
	var m Message
	if err := strictjson.CheckTo(maxDepth, text); err != nil {
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
