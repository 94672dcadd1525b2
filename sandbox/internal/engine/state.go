package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
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

	named  sync.Once
	origin *fork.Origin // nil if points cannot hold all that the module changes
}

var errState = errors.New("the memory cannot hold the state")

// Snapshot takes the state to which Restore resets the instance from now on.
func (i *Instance) Snapshot() (*State, error) {
	s := &State{system: i.world.State.Clone()}
	for _, g := range i.globals {
		s.globals = append(s.globals, g.Get())
	}
	if i.linear != nil {
		i.lay()
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
	i.origin, i.segments = s, nil
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
	i.world.State, i.held, i.stopped = i.origin.system.Clone(), nil, false
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

// Origin identifies the state that Restore restores, for points that differ from it. It
// reads the whole state the first time. The error is fork.ErrUnsupported.
func (i *Instance) Origin() (*fork.Origin, error) {
	s := i.origin
	if s == nil {
		return nil, fork.ErrUnsupported
	}
	s.named.Do(func() {
		if i.program.Restorable() {
			s.origin = &fork.Origin{Sum: s.sum(i.program), Files: i.program.Process.Files}
		}
	})
	if s.origin == nil {
		return nil, fork.ErrUnsupported
	}
	return s.origin, nil
}

// sum digests the state of a program.
func (s *State) sum(p *Program) (sum [32]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %x %d %x ", p.key, p.Process.Sum(), s.globals, s.system.Append(nil))
	if s.memory != nil {
		fmt.Fprintf(h, "%d ", s.memory.Size())
		for n, page := range memory.Written(s.memory.Data) {
			_ = binary.Write(h, binary.LittleEndian, uint32(n))
			_, _ = h.Write(page)
		}
	}
	h.Sum(sum[:0])
	return sum
}

// Fork returns the state of the instance between two calls. It costs as much as what
// was written since the instance began, and takes as much memory as what was written
// since the last Fork, Resume or Restore. The error is fork.ErrUnsupported,
// fork.ErrStopped or that of the system.
func (i *Instance) Fork() (*fork.Point, error) {
	origin, err := i.Origin()
	if err != nil {
		return nil, err
	}
	if i.stopped {
		return nil, fork.ErrStopped
	}
	p := &fork.Point{Origin: origin, Globals: make([]uint64, len(i.globals)), System: i.world.State.Clone(), Pages: &fork.Pages{}}
	for n, g := range i.globals {
		p.Globals[n] = g.Get()
	}
	if i.linear != nil {
		if p.Pages, err = fork.Diff(i.linear, i.held); err != nil {
			return nil, err
		}
		i.held = p.Pages
	}
	return p, nil
}

// Resume sets the instance to a point of any instance with the same origin. It writes
// only what differs. The error is fork.ErrForeign or fork.ErrUnsupported, which leave the
// instance as it was; after any other error it must be closed.
func (i *Instance) Resume(p *fork.Point) error {
	origin, err := i.Origin()
	if err != nil {
		return err
	}
	if !origin.Is(p.Origin) || len(p.Globals) != len(i.globals) || i.linear == nil && p.Pages.Size() > 0 {
		return fork.ErrForeign
	}
	if i.linear != nil {
		if err := i.overwrite(p.Pages); err != nil {
			return err
		}
	}
	i.world.State, i.held, i.stopped = p.System.Clone(), p.Pages, false
	for n, g := range i.globals {
		g.Set(p.Globals[n])
	}
	return nil
}

// overwrite sets the memory, and its size, to pages.
func (i *Instance) overwrite(p *fork.Pages) error {
	size, now := p.Size(), int(i.memory.Size())
	if size < len(i.linear.Image()) {
		return fork.ErrForeign
	}
	if size > now {
		if _, ok := i.memory.Grow(uint32((size - now) / memory.PageBytes)); !ok {
			return errState
		}
	} else if err := errors.Join(i.linear.Truncate(uint64(size)), shrink(i.memory, uint32(size))); err != nil {
		return err
	}
	if err := i.linear.Tidy(); err != nil {
		return err
	}
	return p.Write(i.linear)
}

// Close frees the state; the instances that started from it must be closed
// first.
func (s *State) Close() { s.memory.Close() }

// Restorable reports whether memory and globals are the whole state.
func (p *Program) Restorable() bool { return len(p.meta.Info.SnapshotBlockers()) == 0 }
