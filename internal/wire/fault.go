package wire

import (
	"errors"

	"github.com/merit-rl/merit/core/fault"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// Limits of an encoded error.
const (
	maxFaultText  = 16 << 10 // bytes of one What or Hint
	maxFaultDepth = 16       // nested causes
	maxFaultWidth = 64       // joined errors
)

var boundaries = map[fault.Boundary]bool{
	fault.Config: true, fault.Data: true, fault.Sandbox: true, fault.Plugin: true,
	fault.Learner: true, fault.Storage: true, fault.Model: true, fault.CLI: true,
	fault.Server: true, fault.Registry: true,
}

var kinds = map[fault.Kind]bool{
	fault.Invalid: true, fault.Missing: true, fault.Refused: true, fault.Unaligned: true, fault.Crashed: true,
	fault.Timeout: true, fault.Protocol: true, fault.Exhausted: true, fault.Corrupt: true, fault.Numeric: true,
	fault.Interrupted: true, fault.Unscored: true, fault.Internal: true,
}

// EncodeFault encodes the tree of err. Of an error that is neither a
// *fault.Error nor several joined errors, only the text is encoded.
func EncodeFault(err error) *pb.Fault { return encodeFault(err, maxFaultDepth) }

func encodeFault(err error, depth int) *pb.Fault {
	if depth == 0 {
		return &pb.Fault{What: "…"}
	}
	if e, ok := err.(*fault.Error); ok {
		m := &pb.Fault{
			Boundary: string(e.Boundary), Kind: string(e.Kind), Where: Cut(e.Where, maxFaultText),
			What: Cut(e.What, maxFaultText), Hint: Cut(e.Hint, maxFaultText), Retry: e.Retry,
		}
		if e.Err != nil {
			m.Cause = encodeFault(e.Err, depth-1)
		}
		return m
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		m := &pb.Fault{}
		for _, e := range joined.Unwrap() {
			if len(m.All) == maxFaultWidth {
				m.All = append(m.All, &pb.Fault{What: "and more"})
				break
			}
			m.All = append(m.All, encodeFault(e, depth-1))
		}
		return m
	}
	if inner := fault.As(err); inner != nil {
		// A wrapper that only adds text: keep the text and the kind.
		m := encodeFault(inner, depth)
		m.Where, m.What, m.Cause = "", Cut(err.Error(), maxFaultText), nil
		return m
	}
	return &pb.Fault{What: Cut(err.Error(), maxFaultText)}
}

// DecodeFault is the inverse of EncodeFault: errors.Is and errors.As find the
// same *fault.Errors in its result as in the original. It never returns nil.
// Texts of the plug-in are escaped for display.
func DecodeFault(m *pb.Fault) error { return decodeFault(m, maxFaultDepth) }

func decodeFault(m *pb.Fault, depth int) error {
	if depth == 0 {
		return errors.New("…")
	}
	if len(m.All) > 0 {
		var all []error
		for _, f := range m.All[:min(len(m.All), maxFaultWidth+1)] {
			all = append(all, decodeFault(f, depth-1))
		}
		return errors.Join(all...)
	}
	what := Lines(m.What, maxFaultText) // it may be a list of rows
	if m.Boundary == "" && m.Kind == "" && m.Cause == nil {
		return errors.New(what)
	}
	e := &fault.Error{
		Boundary: fault.Boundary(m.Boundary), Kind: fault.Kind(m.Kind), Where: Clean(m.Where, maxFaultText),
		What: what, Hint: Clean(m.Hint, maxFaultText), Retry: m.Retry,
	}
	if !boundaries[e.Boundary] {
		e.Boundary = fault.Plugin
	}
	if !kinds[e.Kind] {
		e.Kind = fault.Internal
	}
	if m.Cause != nil {
		e.Err = decodeFault(m.Cause, depth-1)
	}
	return e
}
