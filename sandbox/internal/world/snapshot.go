package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
)

var _ env.Snapshotter = (*Environment)(nil)

// mostFork bounds the memory that a state takes when it is decoded.
const mostFork = 64 << 20

// head is the size of what precedes the encoded point of a state: the fuel of the episode so far.
const head = 8

// Snapshot implements env.Snapshotter. A state is the difference of the slot's instance from where
// episodes begin, so it is as large as what the episode changed.
func (e *Environment) Snapshot(_ context.Context, index int) ([]byte, error) {
	s, err := e.slotAt(index)
	if err != nil {
		return nil, err
	}
	if s.state != live {
		return nil, e.module.broken(fault.Invalid, fmt.Sprintf("slot %d is not within an episode", index), "take snapshots between a reset and the end of its episode")
	}
	point, err := s.guest.instance.Fork()
	if err != nil {
		return nil, e.module.unforked(err)
	}
	var b bytes.Buffer
	b.Write(le.AppendUint64(nil, s.fuel-s.began))
	if err := fork.Encode(&b, point.Origin, []*fork.Point{point}); err != nil {
		return nil, e.module.unforked(err)
	}
	if b.Len() > env.MaxSnapshot {
		return nil, e.module.broken(fault.Exhausted, fmt.Sprintf("the state of the slot takes %d bytes, more than %d", b.Len(), env.MaxSnapshot), "let the environment change less memory")
	}
	return b.Bytes(), nil
}

// Restore implements env.Snapshotter. After an error, the slot needs a reset.
func (e *Environment) Restore(ctx context.Context, index int, state []byte) error {
	s, err := e.slotAt(index)
	if err != nil {
		return err
	}
	if s.guest == nil {
		if s.guest, err = e.fresh(ctx); err != nil {
			return err
		}
	}
	s.state = failed
	origin, err := s.guest.instance.Origin()
	var points []*fork.Point
	switch {
	case err != nil:
	case len(state) < head:
		err = fork.ErrTruncated
	default:
		points, err = fork.Decode(bytes.NewReader(state[head:]), origin, mostFork)
	}
	if err == nil && (len(points) != 1 || points[0] == nil) {
		err = fork.ErrCorrupt
	}
	if err == nil {
		err = s.guest.instance.Resume(points[0])
	}
	if err != nil {
		s.drop()
		return e.module.unforked(err)
	}
	s.state, s.began = live, s.fuel-le.Uint64(state)
	return nil
}

func (e *Environment) slotAt(index int) (*slot, error) {
	switch {
	case e.closed:
		return nil, errClosed
	case index < 0 || index >= len(e.slots):
		return nil, fmt.Errorf("slot %d does not exist: the environment has %d slots", index, len(e.slots))
	case !e.spec.Snapshots:
		return nil, e.module.unforked(fork.ErrUnsupported)
	}
	return &e.slots[index], nil
}

// unforked returns the error of a state that cannot be taken or restored.
func (m *Module) unforked(err error) error {
	kind, hint := fault.Corrupt, "use a state that Snapshot returned, unchanged"
	switch {
	case errors.Is(err, fork.ErrForeign), errors.Is(err, fork.ErrVersion):
		kind, hint = fault.Differs, "use the module, the options and the version of Merit that the state was taken with, or play the episode again"
	case errors.Is(err, fork.ErrUnsupported):
		kind, hint = fault.Refused, "play the episode again from its seed"
	case errors.Is(err, fork.ErrTooLarge):
		kind, hint = fault.Exhausted, "let the environment change less memory"
	}
	return m.broken(kind, err.Error(), hint)
}
