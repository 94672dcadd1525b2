// Package wire converts between Merit's own types and the messages of
// sdk/plugin/proto. Each file has both directions of one RPC. Whatever a decoder
// accepts is safe to use: lengths fit, texts are UTF-8 and within their limits,
// numbers are finite. Decoders read bytes from untrusted processes, so each has a
// fuzz target.
package wire

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire/bounds"
)

// Protocol is the version of the contract in sdk/plugin/proto. It is part of the
// handshake and of Describe, and must be the same on both sides.
const Protocol = 1

// The environment variable that a host sets for a plug-in. Without it, a plug-in
// knows that it was started by hand.
const (
	CookieKey   = "MERIT_PLUGIN"
	CookieValue = "environment"
)

// Service is the name under which go-plugin dispenses the connection to a
// plug-in of either kind.
const Service = "environment"

// Limits of messages. A message larger than MaxMessage is rejected as a whole.
const (
	MaxMessage  = 64 << 20
	MaxSlots    = 1 << 16
	MaxActions  = 1 << 12
	MaxFeatures = 1 << 22            // values per slot
	MaxText     = bounds.MaxText     // bytes of one anchor, text or event
	MaxAttached = bounds.MaxAttached // bytes of one info of a turn, as JSON
	MaxName     = bounds.MaxName     // bytes of the name of an environment, action, tool or key
	MaxSystem   = 1 << 16
	MaxOptions  = 1 << 20
	MaxEvents   = bounds.MaxEvents // events per slot in one batch
	MaxCalls    = 64               // tools that one decision calls
	MaxInfo     = 64               // keys of a decision's info
	MaxSequence = 1 << 21          // tokens of one sequence
	MaxState    = 48 << 20         // bytes of a learner's state; an engine keeps its weights itself
	maxRank     = 8
)

// Mismatch returns the error of two sides with different protocol versions.
func Mismatch(name string, theirs uint32) error {
	hint := "rebuild the plug-in with this Merit's sdk/plugin"
	if theirs > Protocol {
		hint = "use a newer merit, or rebuild the plug-in with this Merit's sdk/plugin"
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: name,
		What: fmt.Sprintf("the plug-in uses protocol version %d, but this merit uses %d", theirs, Protocol),
		Hint: hint,
	}
}

// broken returns the error of a message that breaks the contract.
func broken(where, what string, args ...any) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: where,
		What: fmt.Sprintf(what, args...),
		Hint: "report it to the author of the plug-in, which breaks the contract of sdk/plugin/proto",
	}
}

// Cut returns s as UTF-8 of at most limit bytes, with an ellipsis if it was
// longer.
func Cut(s string, limit int) string { return bounds.Cut(s, limit) }

// Clean makes untrusted text safe to show on one line of a terminal: it cuts
// the text to limit bytes and escapes unprintable characters.
func Clean(s string, limit int) string { return bounds.Clean(s, limit) }

// Lines is Clean for text of several lines. It keeps the line breaks.
func Lines(s string, limit int) string { return bounds.Lines(s, limit) }
