package engine

import (
	"errors"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
	"github.com/merit-rl/merit/sandbox/internal/engine/wasi"
)

// State is the state of an instance between two calls: memory, globals, and
// WASI's clock, random numbers and open files. It never changes. Every instance
// of its program may start from it, and shares its memory until it writes
// there, so that a module has to start only once.
type State struct {
	globals []uint64
	system  wasi.State
	memory  *memory.Image // nil if the module has none
}

var errState = errors.New("the memory cannot hold the state")

// Snapshot takes the state to which Restore resets the instance from now on.
func (i *Instance) Snapshot() (*State, error) {
	s := &State{system: i.world.State.Clone()}
	for _, g := range i.globals {
		s.globals = append(s.globals, g.Get())
	}
	if i.linear != nil {
		var err error
		if s.memory, err = memory.TakeImage(i.linear.Bytes()); err != nil {
			return nil, err
		}
	}
	if err := i.Adopt(s); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Adopt sets a new instance to a state of another instance. After an error the
// instance must be closed.
func (i *Instance) Adopt(s *State) error {
	i.origin = s
	if i.linear == nil {
		return i.Restore()
	}
	if missing := s.memory.Size() - int(i.memory.Size()); missing > 0 {
		if _, ok := i.memory.Grow(uint32(missing / memory.PageBytes)); !ok {
			return errState
		}
	}
	if err := i.linear.Adopt(s.memory); err != nil {
		return err
	}
	return i.Restore()
}

// Restore resets the instance to its state. After an error the instance must be
// closed.
func (i *Instance) Restore() error {
	i.world.State = i.origin.system.Clone()
	for n, g := range i.globals {
		g.Set(i.origin.globals[n])
	}
	if i.linear == nil {
		return nil
	}
	size, err := i.linear.Restore()
	if err != nil {
		return err
	}
	return shrink(i.memory, size)
}

// Close frees the state; the instances that started from it must be closed
// first.
func (s *State) Close() { s.memory.Close() }

// Restorable reports whether memory and globals are the whole state.
func (p *Program) Restorable() bool { return len(p.meta.Info.SnapshotBlockers()) == 0 }
