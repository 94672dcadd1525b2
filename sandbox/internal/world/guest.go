package world

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
	pb "github.com/merit-rl/merit/internal/wire/proto"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

var le = binary.LittleEndian

// guest is one instance of a module, and what it printed last.
type guest struct {
	module      *Module
	instance    *engine.Instance
	alloc       *engine.Func
	reset, step *engine.Func
	printed     []byte // the end of what it printed since the last call began
	logged      int    // bytes that it printed since then
}

// newGuest makes an instance in which no code has run yet.
func (m *Module) newGuest(ctx context.Context) (*guest, error) {
	i, err := m.program.Instantiate(ctx, uint64(m.options.MemoryMiB)<<20)
	if err != nil {
		return nil, m.broken(fault.Exhausted, "an instance cannot be created: "+err.Error(), "use fewer slots, or lower sandbox.memory_mib")
	}
	g := &guest{module: m, instance: i, alloc: i.Func(block.Alloc), reset: i.Func(block.Reset), step: i.Func(block.Step)}
	i.Host = g
	return g, nil
}

func (g *guest) close() { g.instance.Close() }

// kept is how much of what a guest prints is part of the error, in bytes.
const kept = 400

// Output implements engine.System: it logs what the guest prints.
func (g *guest) Output(_ int, p []byte) error {
	most := g.module.options.LogKiB << 10
	if log := g.module.options.Logger; log != nil && g.logged < most {
		log.Debug(text.Escape(strings.TrimRight(string(p[:min(len(p), most-g.logged)]), "\n")), "environment", g.module.name)
	}
	g.logged += len(p)
	g.printed = append(g.printed, p...)
	g.printed = g.printed[max(0, len(g.printed)-kept):]
	return nil
}

// Input implements engine.System: there is none.
func (g *guest) Input([]byte) int { return 0 }

// start runs what the module runs before anything else.
func (g *guest) start(ctx context.Context) error {
	budget := g.module.startBudget()
	_, _, err := g.run(ctx, "start", budget, func() (uint64, *engine.Stop) {
		for _, f := range []*engine.Func{g.instance.Start(), g.instance.Func("_initialize")} {
			if f == nil {
				continue
			}
			if _, stop := g.instance.Call(f); stop != nil {
				return 0, stop
			}
		}
		return 0, nil
	})
	return err
}

// run makes calls on one budget and returns the fuel that they used.
func (g *guest) run(ctx context.Context, doing string, b engine.Budget, calls func() (uint64, *engine.Stop)) (result, fuel uint64, err error) {
	g.printed, g.logged = g.printed[:0], 0
	g.instance.Begin(ctx, b)
	result, stop := calls()
	fuel, late := g.instance.End()
	if late != nil {
		stop = late
	}
	if stop != nil {
		return 0, fuel, g.stopped(stop, doing, b)
	}
	if refused := g.instance.Refused(); len(refused) > 0 && doing != "start" {
		return 0, fuel, g.fails(fault.Refused, fmt.Sprintf("it asked the system for what a module does not have (%s)", refused[0].Kind), "give the environment what it needs as options")
	}
	return result, fuel, nil
}

// stopped returns the error of a call that did not return.
func (g *guest) stopped(stop *engine.Stop, doing string, b engine.Budget) error {
	key, wall := "sandbox.fuel", "sandbox.wall_clock"
	if doing != "step" && doing != "reset" && doing != "draw" {
		key, wall = "sandbox.start_fuel", "sandbox.start_wall_clock"
	}
	switch {
	case stop.Kind == engine.Cancelled, stop.Kind == engine.Refused:
		return stop.Err
	case stop.Kind == engine.OutOfFuel:
		return g.fails(fault.Exhausted, fmt.Sprintf("out of fuel: to %s it may use %d units", doing, b.Fuel), "raise "+key+", or let the environment do less")
	case stop.Kind == engine.TimedOut:
		return g.fails(fault.Timeout, fmt.Sprintf("out of time: to %s it may take %v", doing, b.Wall), "raise "+wall+", or let the environment do less")
	case g.instance.MemoryDenied():
		return g.fails(fault.Exhausted, "out of memory: it was refused more, and stopped: "+stop.Error(), "raise sandbox.memory_mib, or let the environment keep less")
	case stop.Kind == engine.TooDeep:
		return g.fails(fault.Exhausted, "out of stack: calls are nested too deeply", "raise sandbox.call_depth, or correct the recursion")
	case stop.Kind == engine.Exited:
		return g.fails(fault.Crashed, fmt.Sprintf("it exited with status %d instead of returning", stop.Code), "correct the environment")
	}
	return g.fails(fault.Crashed, "trap: "+text.Escape(stop.Error()), "correct the environment")
}

// fails returns an error of the guest, with what it printed last.
func (g *guest) fails(kind fault.Kind, what, hint string) error {
	if said := strings.TrimSpace(strings.ToValidUTF8(string(g.printed), "")); said != "" && kind == fault.Crashed {
		what += "; it printed: " + text.Escape(said)
	}
	return &fault.Error{Boundary: fault.Sandbox, Kind: kind, Where: g.module.name, What: what, Hint: hint}
}

// answer calls a function that returns an Answer, and returns a copy of its text, or the
// problems in it as an error.
func (g *guest) answer(ctx context.Context, doing string, b engine.Budget, name string, args ...uint64) ([]byte, error) {
	f := g.instance.Func(name)
	at, _, err := g.run(ctx, doing, b, func() (uint64, *engine.Stop) { return g.instance.Call(f, args...) })
	if err != nil {
		return nil, err
	}
	head, ok := g.instance.Bytes(uint32(at), block.AnswerSize)
	if !ok {
		return nil, g.bad("%s returned %d, which is outside of its memory", name, uint32(at))
	}
	failed, size := le.Uint32(head), le.Uint32(head[8:])
	said, ok := g.instance.Bytes(le.Uint32(head[4:]), size)
	switch {
	case !ok:
		return nil, g.bad("the text of %s is outside of its memory", name)
	case size > wire.MaxOptions:
		return nil, g.bad("the text of %s has %d bytes, more than %d", name, size, wire.MaxOptions)
	case !utf8.Valid(said):
		return nil, g.bad("the text of %s is not UTF-8", name)
	case failed > 1:
		return nil, g.bad("%s returned %d, neither 0 nor 1", name, failed)
	case failed == 1:
		return nil, g.module.problems(said)
	}
	return append([]byte{}, said...), nil
}

// bad returns the error of a guest that breaks the layout.
func (g *guest) bad(what string, args ...any) error {
	return g.fails(fault.Protocol, "bad output: "+fmt.Sprintf(what, args...), "correct the environment; docs/environment-modules.md has the layout")
}

// problems returns the error that a module describes: a JSON list, or a text. What has no
// kind is a refusal of the module.
func (m *Module) problems(said []byte) error {
	var list []block.Problem
	if strictjson.Unmarshal(said, &list) != nil || len(list) == 0 {
		list = []block.Problem{{What: string(said)}}
	}
	var all []error
	for _, p := range list {
		if p.Kind == "" {
			p = block.Problem{Boundary: string(fault.Plugin), Kind: string(fault.Refused), Where: m.name, What: p.What, Hint: p.Hint}
		}
		all = append(all, wire.DecodeFault(&pb.Fault{Boundary: p.Boundary, Kind: p.Kind, Where: p.Where, What: p.What, Hint: p.Hint}))
	}
	return errors.Join(all...)
}

// give writes bytes into the memory of the guest, within a call of run.
func (g *guest) give(p []byte) (at uint64, stop *engine.Stop) {
	at, stop = g.instance.Call(g.alloc, uint64(len(p)))
	if stop != nil {
		return 0, stop
	}
	room, ok := g.instance.Bytes(uint32(at), uint32(len(p)))
	if !ok || uint32(at) == 0 || at%8 != 0 {
		err := g.bad("merit_alloc(%d) returned %d; it must return the address of enough memory, a multiple of 8", len(p), uint32(at))
		return 0, &engine.Stop{Kind: engine.Refused, Err: err}
	}
	copy(room, p)
	return at, nil
}
