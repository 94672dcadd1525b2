package engine

import (
	"fmt"
	"strings"
)

// Kind is the reason why a call into a guest stopped early.
type Kind int

// The kinds.
const (
	Trap      Kind = iota // the guest trapped; Text is the reason
	OutOfFuel             // the budget is used up
	TooDeep               // calls nested too deeply
	Exited                // proc_exit with Code
	Refused               // a host function stopped the call with Err
	TimedOut              // the watchdog: wall clock
	Cancelled             // the watchdog: context
)

// Stop describes how a call ended that did not return.
type Stop struct {
	Kind Kind
	Code uint32
	Text string
	Err  error
}

// outOfBounds is how the runtime describes an access outside of the memory.
const outOfBounds = "out of bounds memory access"

// OutOfBounds reports whether the guest accessed bytes outside of its memory.
func (s *Stop) OutOfBounds() bool { return s.Kind == Trap && s.Text == outOfBounds }

// Error describes the stop.
func (s *Stop) Error() string {
	switch s.Kind {
	case OutOfFuel:
		return "out of fuel"
	case TooDeep:
		return "calls are nested too deeply"
	case Exited:
		return fmt.Sprintf("the module exited with status %d", s.Code)
	case Refused:
		return s.Err.Error()
	case TimedOut:
		return "the wall clock limit passed"
	case Cancelled:
		return "cancelled"
	}
	return s.Text
}

// Abort stops the running call from within a host function.
func (i *Instance) Abort(err error) { i.end(&Stop{Kind: Refused, Err: err}) }

func (i *Instance) end(s *Stop) {
	i.stop, i.stopped = s, true
	panic(s)
}

// Charge takes fuel for the work of a host function. It does not use the
// guest's counter, which the watchdog may be writing to.
func (i *Instance) Charge(n uint64) {
	if i.hostFuel += n; i.hostFuel > i.budget {
		i.end(&Stop{Kind: OutOfFuel})
	}
}

// why classifies the error of a call.
func (i *Instance) why(err error) *Stop {
	if i.stop != nil {
		return i.stop
	}
	left, killed := i.watch.left(i.tank)
	switch {
	case killed != nil:
		return killed
	case left < 0:
		return &Stop{Kind: OutOfFuel}
	case int64(i.depth.Get()) < 0:
		return &Stop{Kind: TooDeep}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return &Stop{Kind: Trap, Text: strings.TrimPrefix(text, "wasm error: ")}
}
