package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/host/internal/process"
	"github.com/merit-rl/merit/internal/wire"
)

// Death is the cause within the fault of a plug-in that is gone.
type Death struct {
	Status string // as in "exit status 2" or "signal: killed"
	Output string // its last lines, fit to be shown; empty if there are none
}

// Error gives the status and, below it, the last lines.
func (d *Death) Error() string {
	if d.Output == "" {
		return d.Status + "; it printed nothing"
	}
	return d.Status + "; its last output:\n    | " + strings.ReplaceAll(d.Output, "\n", "\n    | ")
}

// obituary reports how the process of an ended session ended, nil if the host
// killed it.
func (s *session) obituary() *Death {
	if s.process.ID() == "" {
		return nil
	}
	<-s.process.Exited
	ws, ok := s.process.State.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL && s.killed.Load() {
		return nil
	}
	return &Death{Status: s.process.State.String(), Output: s.out.Tail()}
}

// lastWords is the obituary of a process that the host killed.
func (s *session) lastWords() error {
	if tail := s.out.Tail(); tail != "" {
		return &Death{Status: "killed by merit", Output: tail}
	}
	return nil
}

// faultOf makes the error of an ended session; err is what was noticed first,
// doing says when, as in "during a batch", and limit is the deadline that
// applied.
func (s *session) faultOf(ctx context.Context, err error, doing string, limit time.Duration) *fault.Error {
	if cause := ctx.Err(); cause != nil {
		return interrupted(s.name, doing, cause)
	}
	e := &fault.Error{Boundary: fault.Plugin, Where: s.name}
	death := s.obituary()
	code := status.Code(err)
	switch {
	case s.late.Load():
		e.Kind, e.Err = fault.Timeout, s.lastWords()
		e.What = fmt.Sprintf("gave no answer within %v %s and was killed", limit, doing)
		if place := s.place.Load(); place != nil && *place != "" {
			e.What += "; " + *place
		}
		e.Hint = "find out why the plug-in hangs, or raise the deadline"
	case death != nil && s.process.UsedUp():
		e.Kind, e.What, e.Err = fault.Exhausted, "used up its limits.cpu_time "+doing, death
		e.Hint = "find out what it computes, or raise the limit"
	case death != nil:
		e.Kind, e.What, e.Err = fault.Crashed, "died "+doing, death
		e.Hint = "the output above is the plug-in's own"
		if death.Output == "" {
			e.Hint = "look for what ends the process: an exit without a word, or more memory than limits.memory"
		}
	case code == codes.ResourceExhausted:
		e.Kind, e.What, e.Err = fault.Protocol, "sent a message above the limit "+doing, err
		e.Hint = fmt.Sprintf("messages are limited to %d bytes; use fewer slots or shorter texts", wire.MaxMessage)
	case code == codes.Internal:
		e.Kind, e.What, e.Err = fault.Protocol, "sent what is no message "+doing, err
		e.Hint = "the plug-in speaks something else than this protocol; it was killed"
	default:
		e.Kind, e.What, e.Err = fault.Crashed, "failed "+doing, err
		e.Hint = "the plug-in was killed, for its state is not known"
	}
	return e
}

// interrupted is the error of a caller that gave up or whose time was over.
func interrupted(where, doing string, cause error) *fault.Error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Timeout, Where: where, What: "too late " + doing,
			Hint: "raise the deadline, or find out why the plug-in is slow", Err: cause,
		}
	}
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Interrupted, Where: where, What: "stopped " + doing, Err: cause}
}

// named puts the plug-in's name before what its messages broke.
func named(name string, err error) error {
	e, ok := err.(*fault.Error)
	if !ok || e.Boundary != fault.Plugin || e.Where == name {
		return err
	}
	same := *e
	same.Where = name
	if e.Where != "" {
		same.Where += ": " + e.Where
	}
	return &same
}

// refusal gives what a plug-in has against its configuration a kind where its
// author gave it none.
func (s *session) refusal(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range several.Unwrap() {
			all = append(all, s.refusal(e))
		}
		return errors.Join(all...)
	}
	if fault.As(err) != nil {
		return err
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Refused, Where: s.name, What: err.Error(),
		Hint: "the plug-in itself says so; look at its options",
	}
}

// startFault explains why a process did not become a plug-in.
func (s *session) startFault(ctx context.Context, err error, limit time.Duration) error {
	line := process.Hide(s.secrets, s.process.Greeting())
	parts := strings.Split(line, "|")
	if ctx.Err() != nil {
		return s.faultOf(ctx, err, "at its start", limit)
	}
	e := &fault.Error{Boundary: fault.Plugin, Kind: fault.Protocol, Where: s.name}
	version, notNumber := strconv.ParseUint(strings.Join(parts[min(1, len(parts)-1):min(2, len(parts))], ""), 10, 32)
	switch {
	case s.process.ID() == "":
		e.Kind, e.What, e.Err = fault.Refused, "cannot be started", err
		e.Hint = "is it executable, and built for this system?"
	case len(parts) >= 4 && notNumber == nil && version != wire.Protocol:
		return wire.Mismatch(s.name, uint32(version))
	case len(parts) >= 4:
		return s.faultOf(ctx, err, "at its start", limit)
	case line != "":
		e.What = fmt.Sprintf("printed %q where the handshake belongs", wire.Cut(line, 200))
		e.Hint = "is it a Merit plug-in? One must print nothing to stdout before plugin.Serve"
		e.Err = s.lastWords()
	default:
		return s.faultOf(ctx, err, "at its start", limit)
	}
	return e
}

func nameOf(path string) string { return disk.Name(path) }
