// Package wire converts between Merit's own types and the messages of
// sdk/plugin/proto, one file per RPC, both directions beside each other. Whatever
// a decoder lets through is safe to use: lengths fit, texts are UTF-8 and
// capped, numbers are finite. Decoders are given the bytes of processes that
// nobody has to trust, so each has a fuzz target.
package wire

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
)

// Protocol is the version of the contract in sdk/plugin/proto. It is part of the
// handshake and of Describe; both sides must say the same.
const Protocol = 1

// What a host sets in the environment of a plug-in, so that a plug-in started
// by hand can say that it is one.
const (
	CookieKey   = "MERIT_PLUGIN"
	CookieValue = "environment"
)

// Service is the name under which go-plugin dispenses the connection to a
// plug-in of either kind.
const Service = "environment"

// Caps on what crosses. A message is refused as a whole above MaxMessage.
const (
	MaxMessage  = 64 << 20
	MaxSlots    = 1 << 16
	MaxActions  = 1 << 12
	MaxFeatures = 1 << 22 // values of one slot
	MaxText     = 1 << 20 // one anchor, text or event, in bytes
	MaxAttached = 8 << 20 // one info of a turn, as JSON: the work of several people, say
	MaxName     = 256     // names of environments, actions, tools, keys
	MaxSystem   = 1 << 16
	MaxOptions  = 1 << 20
	MaxEvents   = 64       // of one slot in one batch
	MaxCalls    = 64       // tools that one decision calls
	MaxInfo     = 64       // keys of a decision's info
	MaxSequence = 1 << 21  // tokens that hang together
	MaxState    = 48 << 20 // of a learner; weights stay with their engine
	maxRank     = 8
)

// Mismatch is the error of two sides that speak different versions.
func Mismatch(name string, theirs uint32) error {
	hint := "rebuild the plug-in with this Merit's sdk/plugin"
	if theirs > Protocol {
		hint = "use a newer merit, or rebuild the plug-in with this Merit's sdk/plugin"
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: name,
		What: fmt.Sprintf("the plug-in speaks protocol version %d, this merit speaks %d", theirs, Protocol),
		Hint: hint,
	}
}

// broken is the error of a message that breaks the contract.
func broken(where, what string, args ...any) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: where,
		What: fmt.Sprintf(what, args...),
		Hint: "the plug-in breaks the contract of sdk/plugin/proto; ask its author",
	}
}
