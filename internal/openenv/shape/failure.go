package shape

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
)

// The error codes.
const (
	InvalidJSON     = "INVALID_JSON"     // not JSON
	UnknownType     = "UNKNOWN_TYPE"     // unknown type of message
	ValidationError = "VALIDATION_ERROR" // invalid action or message
	ExecutionError  = "EXECUTION_ERROR"  // the environment failed
	CapacityReached = "CAPACITY_REACHED" // no session is free
	FactoryError    = "FACTORY_ERROR"    // the environment could not be created
	SessionError    = "SESSION_ERROR"    // the session is over
)

// maxSaid is the maximum number of bytes to keep of the server's text.
const maxSaid = 2000

// Failure is an error message of a server, about a message or a whole session.
type Failure struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	// Set with CapacityReached.
	ActiveSessions *int `json:"active_sessions,omitempty"`
	MaxSessions    *int `json:"max_sessions,omitempty"`
	// Errors lists the problems, with ValidationError.
	Errors []Detail `json:"errors,omitempty"`
}

// Detail is one problem.
type Detail struct {
	Type string   `json:"type"`
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s (%s)", f.Message, f.Code) }

// Full returns the failure of a server without a free session.
func Full(active, most int) *Failure {
	return &Failure{
		Code: CapacityReached, ActiveSessions: &active, MaxSessions: &most,
		Message: fmt.Sprintf("Server at capacity: %d/%d sessions active. Cannot accept new connections.", active, most),
	}
}

// DecodeFailure decodes the data of an error message, shortened to what fits on one
// line. It never returns an error: any data is a failure.
func DecodeFailure(data json.RawMessage) *Failure {
	var said struct {
		Message any             `json:"message"`
		Code    any             `json:"code"`
		Errors  json.RawMessage `json:"errors"`
	}
	var errs []struct {
		Loc []any `json:"loc"`
		Msg any   `json:"msg"`
	}
	if strictjson.Unmarshal(data, &said) == nil {
		_ = strictjson.Unmarshal(said.Errors, &errs) // omit errors of another form
	}
	f := &Failure{Message: clean(said.Message), Code: clean(said.Code)}
	for i, e := range errs {
		if i == 3 {
			break
		}
		at := ""
		for _, part := range e.Loc {
			at += "." + clean(part)
		}
		if len(at) > 0 {
			at = at[1:] + ": "
		}
		f.Message += "; " + at + clean(e.Msg)
	}
	f.Message = wire.Clean(f.Message, maxSaid)
	return f
}

func clean(v any) string {
	if v == nil {
		return "no reason given"
	}
	return wire.Clean(fmt.Sprint(v), maxSaid)
}
