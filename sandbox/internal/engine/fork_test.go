package engine

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// adding is a module whose grow(n) grows the memory by n pages and returns its size
// before, and whose count(x) adds x to a global and to the last word of the memory, and
// returns the sum of both.
func adding(most uint32) wt.Module {
	last := wt.MemorySize + wt.I32Const(memory.PageBytes) + wt.I32Mul + wt.I32Const(4) + wt.I32Sub
	return wt.Module{
		Memory:  &wt.Memory{Export: "memory", Size: wt.Size{Min: 1, Max: most}},
		Globals: []wt.Global{{Type: wt.I32, Mutable: true}},
		Funcs: []wt.Func{
			{Export: "grow", Params: wt.I32, Results: wt.I32, Body: wt.LocalGet(0) + wt.MemoryGrow},
			{Export: "count", Params: wt.I32, Results: wt.I32, Body: wt.GlobalGet(0) + wt.LocalGet(0) + wt.I32Add + wt.GlobalSet(0) +
				last + last + wt.I32Load(0) + wt.LocalGet(0) + wt.I32Add + wt.I32Store(0) +
				last + wt.I32Load(0) + wt.GlobalGet(0) + wt.I32Add},
			{Export: "spin", Body: wt.Loop(wt.Br(0))},
		},
	}
}

// born returns an instance of a module that has an origin.
func born(t *testing.T, e *Engine, m wt.Module, files *Files) *Instance {
	p, err := e.Compile(t.Context(), Bytes(m.Bytes()), fuel.Options{}, anything)
	require.NoError(t, err)
	p.Process.Files = files
	i, err := p.Instantiate(t.Context(), 1<<20)
	require.NoError(t, err)
	s, err := i.Snapshot()
	require.NoError(t, err)
	t.Cleanup(func() { i.Close(); s.Close(); p.Close(context.Background()) })
	return i
}

func newEngine(t *testing.T) *Engine {
	e, err := New(Options{})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func call(t *testing.T, i *Instance, name string, args ...uint64) uint64 {
	i.Begin(t.Context(), Budget{Fuel: 1_000_000, Depth: 100, Wall: time.Minute})
	result, stop := i.Call(i.Func(name), args...)
	require.Nil(t, stop)
	_, stop = i.End()
	require.Nil(t, stop)
	return result
}

// Promise: a point holds the globals and the size of the memory too, whether the
// instance grew since then or not yet.
func TestForkOfAGrownMemory(t *testing.T) {
	e := newEngine(t)
	i, other := born(t, e, adding(8), nil), born(t, e, adding(8), nil)
	require.EqualValues(t, 6, call(t, i, "count", 3))
	small, err := i.Fork()
	require.NoError(t, err)
	require.EqualValues(t, 1, call(t, i, "grow", 4))
	require.EqualValues(t, 7, call(t, i, "count", 2)) // 3 + 2, and 2 in the new page
	large, err := i.Fork()
	require.NoError(t, err)
	for range 3 {
		for _, i := range []*Instance{i, other} {
			require.NoError(t, i.Resume(large))
			require.EqualValues(t, 5*memory.PageBytes, i.Size())
			require.EqualValues(t, 9, call(t, i, "count", 1)) // 5 + 1 and 2 + 1
			require.NoError(t, i.Resume(small))
			require.EqualValues(t, memory.PageBytes, i.Size())
			require.EqualValues(t, 8, call(t, i, "count", 1))
			require.EqualValues(t, 1, call(t, i, "grow", 4))
			require.EqualValues(t, 4, call(t, i, "count", 0), "new pages are zero")
		}
	}
	require.NoError(t, i.Restore())
	require.EqualValues(t, 2, call(t, i, "count", 1))
}

// Promise: a point of one module cannot be set in an instance of another, of the same
// module with other files, or in a file that says otherwise; and a module whose state is
// more than that has none.
func TestForksOfOthers(t *testing.T) {
	e := newEngine(t)
	mine := born(t, e, adding(8), nil)
	point, err := mine.Fork()
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, fork.Encode(&file, point.Origin, []*fork.Point{point}))
	for name, theirs := range map[string]*Instance{
		"code":  born(t, e, adding(7), nil),
		"files": born(t, e, adding(8), NewFiles(map[string][]byte{"a": nil})),
	} {
		require.ErrorIs(t, theirs.Resume(point), fork.ErrForeign, name)
		origin, err := theirs.Origin()
		require.NoError(t, err)
		_, err = fork.Decode(bytes.NewReader(file.Bytes()), origin, 1<<20)
		require.ErrorIs(t, err, fork.ErrForeign, name)
	}
	same := born(t, newEngine(t), adding(8), nil)
	origin, err := same.Origin()
	require.NoError(t, err)
	points, err := fork.Decode(bytes.NewReader(file.Bytes()), origin, 1<<20)
	require.NoError(t, err)
	require.NoError(t, same.Resume(points[0]))

	tables := adding(8)
	tables.Tables = []wt.Table{{Size: wt.Size{Min: 1}}}
	tables.Funcs = append(tables.Funcs, wt.Func{Export: "set", Body: wt.I32Const(0) + wt.RefNull(wt.FuncRef) + wt.TableSet(0)})
	_, err = born(t, e, tables, nil).Fork()
	require.ErrorIs(t, err, fork.ErrUnsupported)
	program, err := e.Compile(t.Context(), Bytes(adding(8).Bytes()), fuel.Options{}, anything)
	require.NoError(t, err)
	defer program.Close(t.Context())
	without, err := program.Instantiate(t.Context(), 1<<20)
	require.NoError(t, err)
	defer without.Close()
	require.ErrorIs(t, without.Resume(point), fork.ErrUnsupported)
}

// Promise: an instance whose call was stopped has no state between calls, until it
// returns to one.
func TestNoForkAfterAStop(t *testing.T) {
	i := born(t, newEngine(t), adding(8), nil)
	point, err := i.Fork()
	require.NoError(t, err)
	for _, back := range []func() error{func() error { return i.Resume(point) }, i.Restore} {
		i.Begin(t.Context(), Budget{Fuel: 100, Depth: 100, Wall: time.Minute})
		_, stop := i.Call(i.Func("spin"))
		require.Equal(t, OutOfFuel, stop.Kind)
		_, _ = i.End()
		_, err = i.Fork()
		require.ErrorIs(t, err, fork.ErrStopped)
		require.NoError(t, back())
		_, err = i.Fork()
		require.NoError(t, err)
		require.EqualValues(t, 2, call(t, i, "count", 1))
	}
}
