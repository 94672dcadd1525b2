// Package mcp encodes and decodes the messages of the Model Context Protocol: JSON-RPC 2.0
// with the methods that concern tools. It knows the revisions with a handshake (2024-11-05
// to 2025-11-25) and the one without (2026-07-28), as the PyPI package mcp 2.3 has them. It
// uses neither the network nor processes; internal/mcp/client and internal/mcp/answer do.
//
// The peer is untrusted. Callers limit the size of a message; this package checks its
// encoding and its depth, and bounds lists and schemas.
package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
)

// The methods and notifications that Merit sends or answers.
const (
	Initialize  = "initialize"
	Initialized = "notifications/initialized"
	Cancelled   = "notifications/cancelled"
	Discover    = "server/discover"
	Ping        = "ping"
	ListTools   = "tools/list"
	CallTool    = "tools/call"
)

// The error codes.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	NoMethod       = -32601
	InvalidParams  = -32602
	Internal       = -32603
	HeaderMismatch = -32020 // a header and the body of a request differ, since 2026-07-28
	NoVersion      = -32022 // the revision is not served; data lists those that are
)

// maxDepth is the maximum nesting of lists and objects in a message.
const maxDepth = 64

// maxSaid is the maximum number of bytes to keep of the peer's error text.
const maxSaid = 2000

// Message is a request (a method and an id), a notification (a method) or a response (an id,
// and a result or an error).
type Message struct {
	ID     json.RawMessage // a text or a number; nil if there is none
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Errorf returns an error of a response.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// IsRequest reports whether m must be answered.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsResponse reports whether m answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" }

// envelope is a message as it is sent.
type envelope struct {
	Version string           `json:"jsonrpc"`
	ID      *json.RawMessage `json:"id,omitempty"`
	Method  string           `json:"method,omitempty"`
	Params  json.RawMessage  `json:"params,omitempty"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Error   *Error           `json:"error,omitempty"`
}

// Encode returns the bytes of m, without a line break.
func (m *Message) Encode() []byte {
	e := envelope{Version: "2.0", Method: m.Method, Params: m.Params, Result: m.Result, Error: m.Error}
	if m.ID != nil {
		e.ID = &m.ID
	} else if m.IsResponse() { // a response to a request that could not be read
		null := json.RawMessage("null")
		e.ID = &null
	}
	return Marshal(e)
}

// Marshal encodes v without HTML escaping and without a line break. It panics if v has no
// JSON form.
func Marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Check returns an error unless text is one JSON value in UTF-8, without duplicate names and
// nested at most 64 levels deep.
func Check(text []byte) error { return strictjson.CheckTo(maxDepth, text) }

// Decode decodes a message. A batch, a list of messages, is an error. The error is an *Error
// that answers the message.
func Decode(text []byte) (*Message, error) {
	if err := Check(text); err != nil {
		return nil, Errorf(ParseError, "not JSON: %v", err)
	}
	var e struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := strictjson.Unmarshal(text, &e); err != nil {
		return nil, Errorf(InvalidRequest, "not an object of JSON-RPC")
	}
	m := &Message{Params: e.Params, Result: e.Result}
	switch kind := strictjson.Kind(e.ID); {
	case e.Version != "2.0":
		return nil, Errorf(InvalidRequest, `has no "jsonrpc": "2.0"`)
	case len(e.ID) > 256:
		return nil, Errorf(InvalidRequest, "its id has more than 256 bytes")
	case len(e.ID) == 0 || string(e.ID) == "null":
	case e.ID[0] != '"' && !number(e.ID):
		return nil, Errorf(InvalidRequest, "its id is %s, not a text or a whole number", kind)
	default:
		m.ID = e.ID
	}
	if e.Method != nil {
		m.Method, m.Result = *e.Method, nil
		if *e.Method == "" || len(*e.Method) > 256 {
			return nil, Errorf(InvalidRequest, "its method has no name, or one of more than 256 bytes")
		}
		return m, nil
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		m.Error, m.Result = decodeError(e.Error), nil
	} else if len(e.Result) == 0 || e.Result[0] != '{' {
		return nil, Errorf(InvalidRequest, "has no method, no result that is an object, and no error")
	}
	return m, nil
}

func number(id json.RawMessage) bool {
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

// decodeError decodes the error of a response, shortened to what fits on one line. Any value
// is an error.
func decodeError(text json.RawMessage) *Error {
	var said struct {
		Code    json.RawMessage `json:"code"`
		Message any             `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if strictjson.Unmarshal(text, &said) != nil {
		return &Error{Code: Internal, Message: "no reason given"}
	}
	code, err := strconv.Atoi(string(said.Code))
	if err != nil {
		code = Internal
	}
	message, ok := said.Message.(string)
	if !ok || message == "" {
		message = "no reason given"
	}
	return &Error{Code: code, Message: wire.Clean(message, maxSaid), Data: said.Data}
}
