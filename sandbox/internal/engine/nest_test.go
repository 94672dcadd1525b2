package engine

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// counts is a function that counts its argument down; less than 0 never ends.
func counts(name string) wt.Func {
	return wt.Func{Export: name, Params: wt.I32, Results: wt.I32, Body: wt.Loop(
		wt.LocalGet(0)+wt.I32Const(1)+wt.I32Sub+wt.LocalTee(0)+wt.BrIf(0),
	) + wt.I32Const(7)}
}

// pair is an instance of a module whose nest(x) calls a host function between
// two counts of x, and one that this function works on.
type pair struct {
	outer, inner *Instance
	nested       func(p *pair) uint64
}

func newPair(t *testing.T, nested func(p *pair) uint64) *pair {
	p := &pair{nested: nested}
	e, err := New(Options{Imports: []Import{{Module: "env", Name: "nest", Results: "i", Call: func(_ *Instance, stack []uint64) { stack[0] = p.nested(p) }}}})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	instance := func(m wt.Module) *Instance {
		program, err := e.Compile(t.Context(), Bytes(m.Bytes()), fuel.Options{Limits: fuel.Limits{AllowImport: func(fuel.Import) bool { return true }}}, anything)
		require.NoError(t, err)
		i, err := program.Instantiate(t.Context(), 1<<20)
		require.NoError(t, err)
		t.Cleanup(func() { i.Close(); program.Close(context.Background()) })
		return i
	}
	count := wt.LocalGet(0) + wt.Call(2) + wt.Drop
	p.outer = instance(wt.Module{
		Imports: []wt.Import{{Module: "env", Name: "nest", Results: wt.I32}},
		Funcs:   []wt.Func{{Export: "nest", Params: wt.I32, Results: wt.I32, Body: count + wt.Call(0) + count}, counts("count")},
	})
	p.inner = instance(wt.Module{Funcs: []wt.Func{counts("count")}})
	return p
}

// call runs nest with a budget.
func (p *pair) call(ctx context.Context, n int32, b Budget) (result, used uint64, stop *Stop) {
	p.outer.Begin(ctx, b)
	result, stop = p.outer.Call(p.outer.Func("nest"), uint64(uint32(n)))
	used, late := p.outer.End()
	if late != nil {
		stop = late
	}
	return result, used, stop
}

// nests counts down in the inner instance.
func nests(n int32, fuel uint64, said func(used uint64, stop *Stop)) func(p *pair) uint64 {
	return func(p *pair) (result uint64) {
		used, stop := p.outer.Nest(p.inner, Budget{Fuel: fuel, Depth: 100}, func() (stop *Stop) {
			result, stop = p.inner.Call(p.inner.Func("count"), uint64(uint32(n)))
			return stop
		})
		said(used, stop)
		return result
	}
}

// Promise: what a nested call uses is the outer call's, exactly; it may use what
// it was given and no more, and what the outer call has left and no more. The
// first is the nested call's end, the second the outer one's.
func TestNestedFuel(t *testing.T) {
	plenty := Budget{Fuel: 1 << 40, Depth: 100, Wall: time.Minute}
	var inner []uint64
	var ends []*Stop
	note := func(used uint64, stop *Stop) { inner, ends = append(inner, used), append(ends, stop) }
	p := newPair(t, func(*pair) uint64 { return 0 })
	_, alone, stop := p.call(t.Context(), 1000, plenty)
	require.Nil(t, stop)

	p.nested = nests(1_000_000, 1<<40, note)
	result, used, stop := p.call(t.Context(), 1000, plenty)
	require.Nil(t, stop)
	require.EqualValues(t, 7, result)
	require.Nil(t, ends[0])
	require.Equal(t, alone+inner[0], used)

	exact := plenty
	exact.Fuel = used
	_, again, stop := p.call(t.Context(), 1000, exact)
	require.Nil(t, stop)
	require.Equal(t, used, again)
	for short := range uint64(3) { // one unit less, somewhere behind the nested call; and two
		exact.Fuel = used - 1 - short
		_, _, stop = p.call(t.Context(), 1000, exact)
		require.Equal(t, OutOfFuel, stop.Kind)
	}

	p.nested = nests(-1, 5_000_000, note)
	_, used, stop = p.call(t.Context(), 1000, plenty)
	require.Nil(t, stop, "that it ran out is the nested call's end")
	require.Equal(t, OutOfFuel, ends[len(ends)-1].Kind)
	require.Equal(t, alone+5_000_000, used)

	count, small := len(ends), plenty
	small.Fuel = 4_000_000
	_, used, stop = p.call(t.Context(), 1000, small)
	require.Equal(t, OutOfFuel, stop.Kind)
	require.Len(t, ends, count, "the outer call has ended")
	require.LessOrEqual(t, used, small.Fuel)

	p.nested = func(p *pair) uint64 {
		_, stop := p.outer.Nest(p.inner, Budget{Fuel: 100}, func() *Stop { p.inner.Charge(101); return nil })
		require.Equal(t, OutOfFuel, stop.Kind, "work of the host counts")
		return 0
	}
	_, used, stop = p.call(t.Context(), 1000, plenty)
	require.Nil(t, stop)
	require.Equal(t, alone+100, used)
}

// Promise: the clock and the context of the outer call end the nested one, and
// with it the outer; garbage is collected while it runs.
func TestNestedCallsAreStopped(t *testing.T) {
	p := newPair(t, nests(-1, 1<<50, func(uint64, *Stop) { t.Error("the outer call goes on") }))
	_, _, stop := p.call(t.Context(), 1000, Budget{Fuel: 1 << 60, Depth: 100, Wall: 20 * time.Millisecond})
	require.Equal(t, TimedOut, stop.Kind)
	ctx, cancel := context.WithCancel(t.Context())
	nested := p.nested
	p.nested = func(p *pair) uint64 {
		go func() {
			for range 3 { // each waits for all that runs
				runtime.GC()
			}
			cancel()
		}()
		return nested(p)
	}
	_, _, stop = p.call(ctx, 1000, Budget{Fuel: 1 << 60, Depth: 100, Wall: time.Hour})
	require.Equal(t, Cancelled, stop.Kind)
}

// Promise: a nested trap is the nested call's, and a panic of the host stays one.
func TestNestedTraps(t *testing.T) {
	p := newPair(t, func(p *pair) uint64 {
		_, stop := p.outer.Nest(p.inner, Budget{Fuel: 1000, Depth: 100}, func() *Stop {
			p.inner.Abort(errors.New("ended"))
			return nil
		})
		require.Equal(t, Refused, stop.Kind)
		require.EqualError(t, stop, "ended")
		return 5
	})
	_, _, stop := p.call(t.Context(), 10, Budget{Fuel: 1 << 20, Depth: 100, Wall: time.Minute})
	require.Nil(t, stop)
	require.PanicsWithValue(t, "a bug", func() { _ = Guarded(func() *Stop { panic("a bug") }) })
}
