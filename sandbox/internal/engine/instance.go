package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/table"

	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
	"github.com/merit-rl/merit/sandbox/internal/engine/wasi"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Instance is one instance of a Program. It is not safe for concurrent use.
type Instance struct {
	// Host is for the caller's imports; the engine does not use it.
	Host any
	// Channel lets the guest run other programs, or is nil.
	Channel Channel

	program *Program
	module  api.Module
	memory  api.Memory // nil if the guest has none
	linear  memory.Linear
	tank    tank
	depth   api.MutableGlobal
	globals []api.MutableGlobal
	context callContext
	guard   guard
	watch   *guard // its own, or that of the instance that it is nested in
	stack   [16]uint64

	budget   uint64
	hostFuel uint64
	stop     *Stop // why a host function stopped the call
	world    wasi.World
	segments []fuel.Segment // what the memory lacks until it is first used
	origin   *State         // the state that Restore restores
	held     *fork.Pages    // the memory after the last Fork or Resume; nil is the origin's
	stopped  bool           // a call did not return since the last Resume or Restore
}

// mostPages is how many pages 32 bits can address.
const mostPages = 1 << 16

// Instantiate makes an instance whose memory may hold up to memoryBytes. No
// code of the guest has run yet.
func (p *Program) Instantiate(ctx context.Context, memoryBytes uint64) (*Instance, error) {
	i := &Instance{program: p}
	if m := p.meta.Info.Memory; m != nil { // its own maximum applies if it is below the limit
		memoryBytes = min(memoryBytes, uint64(m.Most(mostPages))*memory.PageBytes)
	}
	i.context.instance, i.watch = i, &i.guard
	i.world = wasi.World{Guest: guest{i}, Process: &p.Process, State: wasi.NewState()}
	allocator := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		i.linear = p.engine.space.New(memoryBytes)
		return i.linear
	})
	m, err := p.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, allocator), p.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	i.module = m
	if p.meta.Info.Memory != nil {
		i.segments = p.segments
		i.memory = m.Memory()
		liftMaximum(i.memory)
	} else { // the memory that the meter added, which is empty
		i.linear = nil
	}
	global := func(name string) api.MutableGlobal {
		g, ok := m.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			err = fmt.Errorf("the metered module lacks the global %s", name)
		}
		return g
	}
	i.tank, i.depth = tank{global(fuel.FuelGlobal), global(fuel.ReserveGlobal), uint64(p.meta.Slice)}, global(fuel.DepthGlobal)
	for _, g := range p.meta.State {
		i.globals = append(i.globals, global(g.Name))
	}
	if err != nil {
		_ = m.Close(ctx)
		return nil, err
	}
	p.engine.watch.add(&i.guard)
	return i, nil
}

// Enter gives the guest another process environment: Process.Boot of its program's, or the
// program's again.
func (i *Instance) Enter(p *Process) { i.world.Process = p }

// Close frees the instance.
func (i *Instance) Close() {
	i.program.engine.watch.remove(&i.guard)
	_ = i.module.Close(context.Background())
}

// Func is an exported function of one instance.
type Func struct{ function api.Function }

// Func returns an exported function, or nil.
func (i *Instance) Func(name string) *Func {
	if f := i.module.ExportedFunction(name); f != nil {
		return &Func{f}
	}
	return nil
}

// TableFunc returns the function at an index of the first table, or nil if
// there is none with this type. Types are letters as in Import.
func (i *Instance) TableFunc(index uint32, params, results string) (f *Func) {
	defer func() {
		if recover() != nil { // wazero panics on a wrong index or type
			f = nil
		}
	}()
	return &Func{table.LookupFunction(i.module, 0, index, valueTypes(params), valueTypes(results))}
}

// Start returns the module's original start function, or nil. It must be called
// before anything else.
func (i *Instance) Start() *Func {
	if i.program.meta.Start == "" {
		return nil
	}
	return i.Func(i.program.meta.Start)
}

// Budget limits what happens between Begin and End.
type Budget struct {
	Fuel  uint64
	Depth uint64
	Wall  time.Duration
}

// Begin opens a series of calls that share one budget.
func (i *Instance) Begin(ctx context.Context, b Budget) {
	i.fill(b)
	i.program.engine.watch.begin(&i.guard, ctx, b.Wall, i.tank)
}

// fill is Begin without the watchdog.
func (i *Instance) fill(b Budget) {
	i.budget, i.hostFuel, i.stop = b.Fuel, 0, nil
	i.world.Answer, i.world.Refused = nil, i.world.Refused[:0]
	if i.linear != nil {
		i.lay()
		i.linear.Forget()
	}
	i.tank.fill(b.Fuel)
	i.depth.Set(b.Depth)
}

func (i *Instance) used() uint64 { return uint64(int64(i.budget)-i.tank.left()) + i.hostFuel }

// End ends the series and returns the fuel it used. The Stop is not nil if the
// series exceeded its budget although every call returned, or was killed; the
// fuel used is then the whole budget.
func (i *Instance) End() (used uint64, stop *Stop) {
	if killed := i.guard.end(); killed != nil {
		return i.budget, killed
	}
	if used = i.used(); used > i.budget {
		return used, &Stop{Kind: OutOfFuel}
	}
	return used, nil
}

// Refused returns what the system refused the guest since Begin. It is valid
// until the next Begin.
func (i *Instance) Refused() []wasi.Refusal { return i.world.Refused }

// Call calls f, which has at most one result. A wrong number of arguments is a
// bug of the caller.
func (i *Instance) Call(f *Func, args ...uint64) (uint64, *Stop) {
	copy(i.stack[:], args)
	if err := f.function.CallWithStack(&i.context, i.stack[:max(len(args), 1)]); err != nil {
		stop := i.why(err)
		i.stopped = stop.Kind != Exited // interpreters exit to be called again
		return 0, stop
	}
	return i.stack[0], nil
}

// Size returns the size of the memory in bytes, 0 if there is none.
func (i *Instance) Size() uint32 {
	if i.memory == nil {
		return 0
	}
	return i.memory.Size()
}

// MemoryDenied reports whether the guest was refused memory since Begin.
func (i *Instance) MemoryDenied() bool { return i.linear != nil && i.linear.Denied() }

// Bytes returns a view of guest memory, valid until the guest runs again.
func (i *Instance) Bytes(ptr, size uint32) ([]byte, bool) {
	if i.memory == nil {
		return nil, false
	}
	i.lay()
	return i.memory.Read(ptr, size)
}

// lay fills the memory of an instance that has not run. One that adopts a state does
// without.
func (i *Instance) lay() {
	if i.segments == nil {
		return
	}
	for _, s := range i.segments {
		copy(i.linear.Bytes()[s.Offset:], s.Bytes)
	}
	i.segments = nil
}

// callContext is the context of calls into guests. Host functions find their
// instance in it without a search or an allocation. The watchdog handles
// deadlines.
type callContext struct{ instance *Instance }

// Deadline implements context.Context.
func (*callContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (*callContext) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (*callContext) Err() error { return nil }

// Value implements context.Context.
func (*callContext) Value(any) any { return nil }
