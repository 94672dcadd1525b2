package world

import (
	"github.com/merit-rl/merit/internal/wire/block"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
)

// exports plays an environment by the functions that its module exports.
type exports struct {
	guest              *guest
	alloc, reset, step *engine.Func
}

var _ profile.Player = (*exports)(nil)

func newExports(g *guest) *exports {
	return &exports{g, g.instance.Func(block.Alloc), g.instance.Func(block.Reset), g.instance.Func(block.Step)}
}

// Start implements profile.Guest.
func (e *exports) Start() *engine.Stop {
	i := e.guest.instance
	for _, f := range []*engine.Func{i.Start(), i.Func("_initialize")} {
		if f == nil {
			continue
		}
		if _, stop := i.Call(f); stop != nil {
			return stop
		}
	}
	return nil
}

// Memo implements profile.Guest.
func (e *exports) Memo() []byte { return nil }

// Resume implements profile.Guest.
func (e *exports) Resume([]byte) error { return nil }

// Draws implements profile.Player.
func (e *exports) Draws() bool { return e.guest.instance.Func(block.Render) != nil }

// Ask implements profile.Player: the function returns a block.Answer.
func (e *exports) Ask(call string, input []byte) (said []byte, failed bool, stop *engine.Stop) {
	g, args := e.guest, []uint64(nil)
	f := g.instance.Func(call)
	if f == nil {
		return nil, false, refused(g.bad("it does not export %s", call))
	}
	if len(input) > 0 {
		at, stop := e.give(input)
		if stop != nil {
			return nil, false, stop
		}
		args = []uint64{at, uint64(len(input))}
	}
	at, stop := g.instance.Call(f, args...)
	if stop != nil {
		return nil, false, stop
	}
	head, ok := g.instance.Bytes(uint32(at), block.AnswerSize)
	if !ok {
		return nil, false, refused(g.bad("%s returned %d, which is outside of its memory", call, uint32(at)))
	}
	said, ok = g.instance.Bytes(le.Uint32(head[4:]), le.Uint32(head[8:]))
	switch kind := le.Uint32(head); {
	case !ok:
		return nil, false, refused(g.bad("the text of %s is outside of its memory", call))
	case kind > 1:
		return nil, false, refused(g.bad("%s returned %d, neither 0 nor 1", call, kind))
	default:
		return said, kind == 1, nil
	}
}

// Reset implements profile.Player.
func (e *exports) Reset(seed uint64, want uint32) (uint32, *engine.Stop) {
	at, stop := e.guest.instance.Call(e.reset, seed, uint64(want))
	return uint32(at), stop
}

// Step implements profile.Player.
func (e *exports) Step(action int32, text string, want uint32) (uint32, *engine.Stop) {
	at := uint64(0)
	if text != "" {
		var stop *engine.Stop
		if at, stop = e.give([]byte(text)); stop != nil {
			return 0, stop
		}
	}
	turn, stop := e.guest.instance.Call(e.step, uint64(uint32(action)), at, uint64(len(text)), uint64(want))
	return uint32(turn), stop
}

// give writes bytes into the memory of the guest.
func (e *exports) give(p []byte) (at uint64, stop *engine.Stop) {
	g := e.guest
	at, stop = g.instance.Call(e.alloc, uint64(len(p)))
	if stop != nil {
		return 0, stop
	}
	room, ok := g.instance.Bytes(uint32(at), uint32(len(p)))
	if !ok || uint32(at) == 0 || at%8 != 0 {
		return 0, refused(g.bad("merit_alloc(%d) returned %d; it must return the address of enough memory, a multiple of 8", len(p), uint32(at)))
	}
	copy(room, p)
	return at, nil
}

// refused stops a call of a guest that breaks the layout.
func refused(err error) *engine.Stop { return &engine.Stop{Kind: engine.Refused, Err: err} }
