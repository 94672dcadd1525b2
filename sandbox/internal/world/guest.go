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
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

var le = binary.LittleEndian

// guest is one instance of a module or of an interpreter, and what it printed last.
type guest struct {
	module   *Module
	instance *engine.Instance
	player   profile.Player
	printed  []byte // the end of what it printed since the last call began
	logged   int    // bytes that it printed since then
	capture  bool   // standard output goes to captured
	captured []byte
	fed      []byte // standard input
}

// newGuest makes an instance in which no code has run yet.
func (m *Module) newGuest(ctx context.Context) (*guest, error) {
	i, err := m.program.Instantiate(ctx, uint64(m.options.MemoryMiB)<<20)
	if err != nil {
		return nil, m.broken(fault.Exhausted, "an instance cannot be created: "+err.Error(), "use fewer slots, or lower sandbox.memory_mib")
	}
	g := &guest{module: m, instance: i}
	i.Host = g
	if m.open != nil {
		g.player = m.open(i, g)
	} else {
		g.player = newExports(g)
	}
	return g, nil
}

// adopt brings a new instance to a state after the start of another one.
func (g *guest) adopt(s *engine.State) error {
	if err := g.instance.Adopt(s); err != nil {
		return g.module.broken(fault.Exhausted, err.Error(), "use fewer slots")
	}
	return g.player.Resume(g.module.memo)
}

func (g *guest) close() { g.instance.Close() }

// kept is how much of what a guest prints is part of the error, in bytes.
const kept = 400

// Capture implements profile.Streams.
func (g *guest) Capture() { g.capture, g.captured = true, nil }

// Captured implements profile.Streams.
func (g *guest) Captured() []byte { return g.captured }

// Feed implements profile.Streams.
func (g *guest) Feed(p []byte) { g.fed = p }

// Output implements engine.System: it logs what the guest prints.
func (g *guest) Output(fd int, p []byte) error {
	if g.capture && fd == 1 && len(g.captured)+len(p) <= wire.MaxOptions {
		g.captured = append(g.captured, p...)
		return nil
	}
	most := g.module.options.LogKiB << 10
	if log := g.module.options.Logger; log != nil && g.logged < most {
		log.Debug(text.Escape(strings.TrimRight(string(p[:min(len(p), most-g.logged)]), "\n")), "environment", g.module.name)
	}
	g.logged += len(p)
	g.printed = append(g.printed, p...)
	g.printed = g.printed[max(0, len(g.printed)-kept):]
	return nil
}

// Input implements engine.System: there is none but what the host feeds.
func (g *guest) Input(p []byte) int {
	n := copy(p, g.fed)
	g.fed = g.fed[n:]
	return n
}

// start runs what the guest runs before anything else.
func (g *guest) start(ctx context.Context) error {
	_, _, err := g.run(ctx, "start", g.module.startBudget(), func() (uint32, *engine.Stop) { return 0, g.player.Start() })
	var v *result.Verdict
	if errors.As(err, &v) {
		return source.Refusal(g.module.name, "the environment cannot be started: "+v.Reason, "correct the environment"+g.module.otherwise, nil)
	}
	return err
}

// run makes calls on one budget and returns the fuel that they used.
func (g *guest) run(ctx context.Context, doing string, b engine.Budget, calls func() (uint32, *engine.Stop)) (result uint32, fuel uint64, err error) {
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
	if refused := g.instance.Refused(); len(refused) > 0 && doing != "start" && g.module.open == nil {
		return 0, fuel, g.fails(fault.Refused, fmt.Sprintf("it asked the system for what a module does not have (%s)", refused[0].Kind), "give the environment what it needs as options")
	}
	return result, fuel, nil
}

// stopped returns the error of a call that did not return.
func (g *guest) stopped(stop *engine.Stop, doing string, b engine.Budget) error {
	key, wall := "sandbox.fuel", "sandbox.wall_clock"
	if doing != "step" && doing != "reset" && doing != "draw" && doing != "encode" {
		key, wall = "sandbox.start_fuel", "sandbox.start_wall_clock"
	}
	switch {
	case stop.Kind == engine.Refused && doing != "start" && fault.As(stop.Err) == nil:
		return g.fails(fault.Crashed, stop.Err.Error(), "correct the environment")
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

// ask makes a call that answers with a text, and returns a copy of it, or the problems in
// it as an error.
func (g *guest) ask(ctx context.Context, doing string, b engine.Budget, call string, input []byte) ([]byte, error) {
	var said []byte
	var failed bool
	_, _, err := g.run(ctx, doing, b, func() (_ uint32, stop *engine.Stop) {
		said, failed, stop = g.player.Ask(call, input)
		return 0, stop
	})
	switch {
	case err != nil:
		return nil, err
	case len(said) > wire.MaxOptions:
		return nil, g.bad("the text of %s has %d bytes, more than %d", call, len(said), wire.MaxOptions)
	case !utf8.Valid(said):
		return nil, g.bad("the text of %s is not UTF-8", call)
	case failed:
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
