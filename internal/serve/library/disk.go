package library

import (
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/durable"
)

// failed says what the disk refused: of the kind Exhausted where it is full,
// which may pass.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	e := &fault.Error{Boundary: fault.Storage, Kind: fault.Crashed, Where: "the server's library", What: what, Err: durable.Cause(err), Hint: "tell the operator: the server's disk needs a look"}
	if durable.Full(err) {
		e.Kind, e.Retry, e.Hint = fault.Exhausted, true, "tell the operator: the server's disk is full; nothing was half-written"
	}
	return e
}
