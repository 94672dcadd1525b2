package fuel_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	. "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// generator writes random valid programs of nested blocks, loops, branches of every kind, calls and bulk instructions. They may
// trap and may run forever.
type generator struct {
	*rand.Rand
	functions int
	self      int
	nest      int
}

const genLocals = 4

func (g *generator) module() Module {
	g.functions = 1 + g.IntN(4)
	m := Module{
		Memory:  &Memory{Export: "memory", Size: Size{Min: 1, Max: 2}},
		Globals: []Global{{Export: "g", Type: I32, Mutable: true}},
		Types:   []Func{{Results: I32 + I64}},
	}
	for g.self = range g.functions {
		f := Func{Params: I32, Results: I32, Locals: I32 + I32 + I32 + I64, Body: g.block(6) + g.value()}
		if g.self == 0 {
			f.Export = "run"
		}
		m.Funcs = append(m.Funcs, f)
	}
	return m
}

func (g *generator) local() uint32 { return uint32(g.IntN(genLocals)) }

func (g *generator) value() Code {
	switch g.IntN(6) {
	case 0:
		return I32Const(int32(g.IntN(100) - 10))
	case 1:
		return GlobalGet(0)
	case 2:
		return LocalGet(g.local()) + I32Const(0xfff) + I32And + I32Load(0)
	case 3:
		return LocalGet(g.local()) + LocalGet(g.local()) + []Code{I32Add, I32Sub, I32Mul, I32Xor, I32LtU}[g.IntN(5)]
	}
	return LocalGet(g.local())
}

func (g *generator) label() uint32 { return uint32(g.IntN(g.nest + 1)) }

// branch goes to a label: a branch to the function's own needs a value, one to an inner block must not have any.
func (g *generator) branch(label uint32) Code {
	if int(label) == g.nest {
		return g.value() + Br(label)
	}
	return Br(label)
}

func (g *generator) block(n int) Code {
	var c Code
	for range 1 + g.IntN(n) {
		c += g.statement()
	}
	return c
}

// inside generates a body one level deeper.
func (g *generator) inside() Code {
	g.nest++
	defer func() { g.nest-- }()
	return g.block(4)
}

func (g *generator) statement() Code {
	if g.nest > 5 {
		return g.value() + LocalSet(g.local())
	}
	switch g.IntN(15) {
	case 0:
		return Block(g.inside())
	case 1:
		return g.value() + If(g.inside())
	case 2:
		return g.value() + "\x04\x40" + g.inside() + Else + g.inside() + End
	case 3, 4: // a loop that ends, unless something within branches back
		g.nest++
		defer func() { g.nest-- }()
		counter := LocalGet(3) + I32Const(1) + I32Sub + LocalTee(3) + BrIf(0)
		return I32Const(int32(1+g.IntN(5))) + LocalSet(3) + Loop(g.block(3)+counter)
	case 5:
		label := g.label()
		if int(label) == g.nest {
			return g.value() + g.value() + BrIf(label) + Drop
		}
		return g.value() + BrIf(label)
	case 6:
		g.nest++
		defer func() { g.nest-- }()
		return g.value() + If(g.branch(g.label())+g.block(2)) // with dead code
	case 7:
		return g.value() + If(g.value()+Return)
	case 8:
		if g.nest == 0 {
			return Nop
		}
		labels := make([]uint32, 1+g.IntN(4))
		for i := range labels {
			labels[i] = 1 + uint32(g.IntN(g.nest))
		}
		return Block(g.value() + BrTable(append(labels, 0)...))
	case 9:
		return g.value() + Call(uint32(g.IntN(g.functions))) + LocalSet(g.local())
	case 10:
		bulk := []Code{MemoryFill, MemoryCopy}[g.IntN(2)]
		return I32Const(int32(g.IntN(4000))) + I32Const(int32(g.IntN(4000))) + g.value() + I32Const(127) + I32And + bulk
	case 11:
		return I32Const(int32(g.IntN(3))) + MemoryGrow + LocalSet(g.local())
	case 12:
		return "\x02\x00" + g.value() + I64Const(1) + End + Drop + GlobalSet(0)
	case 13:
		return g.value() + If(g.value()+g.value()+I32DivU+LocalSet(g.local())+Unreachable)
	}
	return g.value() + LocalSet(g.local()) + LocalGet(g.local()) + I32Const(0xfff) + I32And + g.value() + I32Store(0)
}

// Random programs cost what their instructions do, compute what they compute unmetered, and agree on both engines.
func TestGeneratedProgramsAgree(t *testing.T) {
	testneeds.Slow(t, "runs thousands of generated programs")
	finished, trapped := 0, 0
	for seed := range uint64(1500) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 7))}
		switch agree(t, g.module().Bytes(), fuel.Limits{}) {
		case ended:
			finished++
		case failed:
			trapped++
		}
	}
	t.Logf("%d finished, %d trapped", finished, trapped)
	require.Greater(t, finished, 500)
	require.Greater(t, trapped, 20)
}

// verdict is how a compared program ended.
type verdict int

const (
	skipped verdict = iota // it ran out of fuel or depth, or has nothing to run
	ended
	failed
)

// agree runs the first exported function of a module metered in every variant, metered naively, and, once it is known to end, plain,
// and requires one result. Modules with imports, and with tables whose growth the meter limits, are not run.
func agree(t testing.TB, wasm []byte, limits fuel.Limits) verdict {
	const tank = 100_000
	info, err := fuel.Inspect(wasm, limits)
	require.NoError(t, err)
	entry := slices.IndexFunc(info.Exports, func(e fuel.Export) bool { return e.Kind == fuel.FuncExtern })
	if entry < 0 || len(info.Imports) > 0 || info.Sites.TableWrites > 0 {
		return skipped
	}
	name := info.Exports[entry].Name
	args := arguments(info.Exports[entry].Func.Params)
	options := fuel.Options{Limits: limits}
	compiled := meter(t, 0, wasm, options)
	got := compiled.call(tank, name, args...)
	for _, v := range variants[1:] {
		options.Slice = v.slice
		g := meter(t, v.engine, wasm, options)
		require.Equal(t, got, g.call(tank, name, args...))
		require.Equal(t, compiled.memory(), g.memory())
	}
	if got.left < 0 || got.deep < 0 {
		return skipped
	}
	options.Slice = 0
	counted := count(t, wasm, options)
	for _, g := range []*guest{counted, start(t, 0, wasm)} {
		o := g.call(tank, name, args...)
		require.Equal(t, got.failed, o.failed)
		require.Equal(t, got.results, o.results)
		require.Equal(t, compiled.memory(), g.memory())
		if g == counted && !got.failed {
			require.Equal(t, got.left, o.left)
			require.Equal(t, got.deep, o.deep)
		}
	}
	if got.failed {
		return failed
	}
	require.EqualValues(t, depth, got.deep, "every way out of a function gives its depth back")
	return ended
}

// count instantiates a module that charges every instruction on its own.
func count(t testing.TB, wasm []byte, options fuel.Options) *guest {
	naive, err := fuel.InstrumentNaive(wasm, options)
	require.NoError(t, err)
	g := start(t, 1, naive.Wasm)
	g.metered = naive
	return g
}

// arguments makes up small arguments, two words for a v128 and null for a reference.
func arguments(types []fuel.ValueType) []uint64 {
	var args []uint64
	for i, v := range types {
		switch v {
		case fuel.V128:
			args = append(args, uint64(i+3), uint64(i+5))
		case fuel.FuncRef, fuel.ExternRef:
			args = append(args, 0)
		default:
			args = append(args, uint64(i+3))
		}
	}
	return args
}
