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

// cover instruments and instantiates a module with coverage.
func cover(t testing.TB, engine int, wasm []byte, options fuel.Options) *guest {
	covered, err := fuel.Cover(wasm, options)
	require.NoError(t, err)
	g := start(t, engine, covered.Wasm)
	g.metered = covered
	return g
}

// places returns the numbers of the places that were reached.
func (g *guest) places() (set []int) {
	for w := range g.metered.Cover {
		for word, bit := uint64(g.get(fuel.CoverGlobal(w))), 0; bit < 64; bit++ {
			if word>>bit&1 == 1 {
				set = append(set, 64*w+bit)
			}
		}
	}
	return set
}

// reached runs the first exported function of a module with coverage on both engines and without,
// and requires one result. What it reached is what a module reached that marks every instruction on
// its own.
func reached(t testing.TB, wasm []byte, limits fuel.Limits) verdict {
	const tank = 100_000
	info, err := fuel.Inspect(wasm, limits)
	require.NoError(t, err)
	entry := slices.IndexFunc(info.Exports, func(e fuel.Export) bool { return e.Kind == fuel.FuncExtern })
	if entry < 0 || len(info.Imports) > 0 || info.Sites.TableWrites > 0 {
		return skipped
	}
	name, args := info.Exports[entry].Name, arguments(info.Exports[entry].Func.Params)
	plain := meter(t, 0, wasm, fuel.Options{Limits: limits})
	want := plain.call(tank, name, args...)
	var g *guest
	for _, v := range variants {
		again := cover(t, v.engine, wasm, fuel.Options{Limits: limits, Slice: v.slice})
		require.Equal(t, want, again.call(tank, name, args...))
		require.Equal(t, plain.memory(), again.memory())
		if g != nil {
			require.Equal(t, g.places(), again.places())
		}
		g = again
	}
	if want.left < 0 || want.deep < 0 {
		return skipped
	}
	naive, instructions, err := fuel.CoverNaive(wasm, fuel.Options{Limits: limits})
	require.NoError(t, err)
	counted := start(t, 1, naive.Wasm)
	counted.metered = naive
	counted.call(tank, name, args...)
	ran := map[fuel.Block]bool{}
	for _, i := range counted.places() {
		ran[instructions[i]] = true
	}
	blocks, err := fuel.Places(wasm, limits)
	require.NoError(t, err)
	set := g.places()
	for i, b := range blocks {
		next := slices.IndexFunc(instructions, func(x fuel.Block) bool { return x.Func == b.Func && x.At >= b.At })
		if next < 0 { // the function has no instruction that costs anything
			continue
		}
		require.Equal(t, ran[instructions[next]], slices.Contains(set, i), "place %d: %+v", i, b)
	}
	if want.failed {
		return failed
	}
	return ended
}

// Promise: a place is set exactly if its block began, also where the run ends with a trap, and
// coverage changes no result, no fuel and no memory.
func TestCoverageIsWhatRan(t *testing.T) {
	testneeds.NotShort(t)
	finished, trapped := 0, 0
	for seed := range uint64(150) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 11))}
		switch reached(t, g.module().Bytes(), fuel.Limits{}) {
		case ended:
			finished++
		case failed:
			trapped++
		}
	}
	require.Greater(t, finished, 40)
	require.Greater(t, trapped, 3)
}

// Promise: however many blocks a module has, there are at most MostPlaces places, in the order of the
// code.
func TestPlacesAreBounded(t *testing.T) {
	testneeds.NotShort(t)
	var m Module
	for range 1500 {
		m.Funcs = append(m.Funcs, Func{Params: I32, Body: Repeat(50, LocalGet(0)+If(Nop))})
	}
	wasm := m.Bytes()
	covered, err := fuel.Cover(wasm, fuel.Options{})
	require.NoError(t, err)
	blocks, err := fuel.Places(wasm, fuel.Limits{})
	require.NoError(t, err)
	require.LessOrEqual(t, len(blocks), fuel.MostPlaces)
	require.Greater(t, len(blocks), fuel.MostPlaces/2)
	require.Equal(t, (len(blocks)+63)/64, covered.Cover)
	require.True(t, slices.IsSortedFunc(blocks, func(a, b fuel.Block) int { return a.At - b.At }))
}

// Promise: a guest cannot name the words of its coverage: it is refused if it names anything like
// them, and its own globals keep their indices.
func TestCoverageIsTheHosts(t *testing.T) {
	forged := Module{Globals: []Global{{Export: fuel.CoverGlobal(0), Type: I64, Mutable: true}}, Funcs: []Func{{Export: "f"}}}
	_, err := fuel.Cover(forged.Bytes(), fuel.Options{})
	require.ErrorContains(t, err, "reserved")
	beyond := Module{Funcs: []Func{{Export: "f", Body: I64Const(-1) + GlobalSet(3)}}} // where the first word will be
	_, err = fuel.Cover(beyond.Bytes(), fuel.Options{})
	require.Error(t, err)
}

// Promise: texts are found as compilers lay them out: by address and length in code, by a NUL, in
// UTF-16, and as a number that is compared.
func TestLiterals(t *testing.T) {
	m := Module{
		Memory: &Memory{Size: Size{Min: 1}},
		Data:   []Data{{Bytes: "answer:boxedrest\x00plain\x00\x00w\x00i\x00d\x00e"}},
		Funcs:  []Func{{Export: "f", Body: I32Const(7) + I32Const(5) + Drop + Drop + I64Const(0x0a3d3d3d) + Drop}},
	}
	var found []string
	fuel.Literals(m.Bytes(), fuel.Limits{}, nil, func(text string) bool { found = append(found, text); return true })
	for _, want := range []string{"boxed", "plain", "wide", "===\n"} {
		require.Contains(t, found, want)
	}
	n := 0
	fuel.Literals(m.Bytes(), fuel.Limits{}, nil, func(string) bool { n++; return n < 2 })
	require.Equal(t, 2, n, "found says when to end")
	fuel.Literals(m.Bytes(), fuel.Limits{}, func(int) bool { return false }, func(text string) bool { t.Error(text); return true })
}
