package shape

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
)

// The codes of failures.
const (
	InvalidJSON     = "INVALID_JSON"     // not JSON
	UnknownType     = "UNKNOWN_TYPE"     // a message of no known type
	ValidationError = "VALIDATION_ERROR" // an action or message that does not fit
	ExecutionError  = "EXECUTION_ERROR"  // the environment failed
	CapacityReached = "CAPACITY_REACHED" // no session is free
	FactoryError    = "FACTORY_ERROR"    // the environment could not be made
	SessionError    = "SESSION_ERROR"    // the session is over
)

// maxSaid caps what is kept of another's words.
const maxSaid = 2000

// Failure is what a server has against a message, or why it ends a session.
type Failure struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	// With CapacityReached.
	ActiveSessions *int `json:"active_sessions,omitempty"`
	MaxSessions    *int `json:"max_sessions,omitempty"`
	// With ValidationError: what is wrong where.
	Errors []Detail `json:"errors,omitempty"`
}

// Detail is one thing that is wrong.
type Detail struct {
	Type string   `json:"type"`
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s (%s)", f.Message, f.Code) }

// Full is the failure of a server without a free session.
func Full(active, most int) *Failure {
	return &Failure{
		Code: CapacityReached, ActiveSessions: &active, MaxSessions: &most,
		Message: fmt.Sprintf("Server at capacity: %d/%d sessions active. Cannot accept new connections.", active, most),
	}
}

// DecodeFailure reads the data of an error message, with as much of it as can be
// shown on one line. It never fails: what a server says is always a failure.
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
		_ = strictjson.Unmarshal(said.Errors, &errs) // errors of another form are left out
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
		return "no word of it"
	}
	return wire.Clean(fmt.Sprint(v), maxSaid)
}
