package fuel_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
	. "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// everything is a module in which the meter has something of every kind to do.
func everything() Module {
	return Module{
		Memory: &Memory{Export: "memory", Size: Size{Min: 1}}, Tables: []Table{{Size: Size{Min: 10}}},
		Types:   []Func{{}},
		Globals: []Global{{Type: I32, Mutable: true}},
		Elems:   []Elem{{Funcs: []uint32{0}}},
		Customs: []Custom{{Name: "note", Content: "kept"}},
		Funcs: []Func{
			{Export: "f", Params: I32, Results: I32, Locals: I64, Body: Block(Loop(LocalGet(0)+BrIf(0)+I32Const(0)+BrTable(0, 1, 1))) +
				I32Const(1) + If(Call(1)) + I32Const(0) + I32Const(1) + I32Const(64) + MemoryFill + I32Const(1) + MemoryGrow + Drop + I32Const(7)},
			{Body: Repeat(3000, Nop) + RefFunc(0) + Drop},
			{Params: F64 + V128, Results: F64, Body: I32Const(8) + LocalGet(1) + LocalGet(1) + "\xfd\xf0\x01\xfd\x0b\x00\x00" + LocalGet(0) + LocalGet(0) + F64Add}, // f64x2.add, v128.store
		},
	}
}

// Promise: a change of what the meter writes changes Version, so that no cache
// returns code of an older meter. If this fails, raise Version and record the
// digest that it shows.
func TestVersionNamesTheCode(t *testing.T) {
	m, err := fuel.Instrument(everything().Bytes(), fuel.Options{})
	require.NoError(t, err)
	require.Equal(t, "3: 31429dc353a7f2163d03875d777b2d0d9e5696c2833098877034e5e6d947d866", fmt.Sprintf("%d: %x", fuel.Version, sha256.Sum256(m.Wasm)))
}

// Promise: a skeleton is a valid module with the imports, exports, types and sizes of the metered module.
func TestSkeleton(t *testing.T) {
	m, err := fuel.Instrument(everything().Bytes(), fuel.Options{})
	require.NoError(t, err)
	skeleton, segments := m.Skeleton()
	require.Empty(t, segments)
	require.Less(t, len(skeleton), len(m.Wasm)/4)
	for engine := range engines {
		whole, hollow := start(t, engine, m.Wasm), start(t, engine, skeleton)
		for name, f := range whole.mod.ExportedFunctionDefinitions() {
			require.Equal(t, f.ParamTypes(), hollow.mod.ExportedFunction(name).Definition().ParamTypes())
			require.Equal(t, f.Index(), hollow.mod.ExportedFunction(name).Definition().Index())
		}
		require.Equal(t, whole.memory(), hollow.memory())
		for _, name := range []string{fuel.FuelGlobal, fuel.DepthGlobal, m.State[0].Name} {
			require.Zero(t, hollow.get(name))
		}
		require.True(t, hollow.call(1000, "f", 1).failed)
	}
	require.NotContains(t, string(skeleton), "note")
}
