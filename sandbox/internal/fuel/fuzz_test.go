package fuel_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
	. "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// fuzzLimits keep single runs short.
var fuzzLimits = fuel.Limits{Bytes: 1 << 16, MemoryPages: 4, TableEntries: 100, AllowImport: func(fuel.Import) bool { return true }}

func addSeeds(f *testing.F) {
	for seed := range uint64(20) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		f.Add(g.module().Bytes())
	}
	f.Add(one(LocalGet(0) + "\xfd\x0f" + V128Const(1, 2) + "\xfd\x6e\xfd\x16\x00").Bytes())
	f.Add(Module{
		Tables: []Table{{Size: Size{Min: 2}}}, Globals: []Global{{Type: F32, Mutable: true}},
		Types: []Func{{Params: I32, Results: I32}}, Elems: []Elem{{Funcs: []uint32{0}}, {Passive: true, Funcs: []uint32{0}}},
		Funcs: []Func{{Export: "f", Params: I32, Results: I32, Body: LocalGet(0) + I32Const(0) + CallIndirect(0, 0)}},
	}.Bytes())
	f.Add(raw(typeSection, functionSection, codeSection))
}

// Whatever the bytes, the gate answers with a description or with at most 20 problems inside the module.
func FuzzInspect(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		info, err := fuel.Inspect(wasm, fuzzLimits)
		if err == nil {
			require.NotNil(t, info)
			return
		}
		var refused *fuel.Refused
		require.True(t, errors.As(err, &refused))
		require.NotEmpty(t, refused.Problems)
		require.LessOrEqual(t, len(refused.Problems), 20)
		for _, p := range refused.Problems {
			require.NotEmpty(t, p.Message)
			require.GreaterOrEqual(t, p.Offset, 0)
			require.LessOrEqual(t, p.Offset, len(wasm))
		}
	})
}

// Whatever the bytes, a module that is valid and passes the gate compiles after metering and computes the same; one that is not
// valid does not become so.
func FuzzInstrument(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		metered, err := fuel.Instrument(wasm, fuel.Options{Limits: fuzzLimits})
		if err != nil {
			return
		}
		ctx := context.Background()
		runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(4))
		defer runtime.Close(ctx)
		sliced, err := fuel.Instrument(wasm, fuel.Options{Limits: fuzzLimits, Slice: 1})
		require.NoError(t, err)
		_, before := runtime.CompileModule(ctx, wasm)
		_, after := runtime.CompileModule(ctx, metered.Wasm)
		_, slicedAfter := runtime.CompileModule(ctx, sliced.Wasm)
		if before != nil && strings.Contains(before.Error(), "custom section") {
			return // wazero 1.12 cannot read an empty custom section at the very end of a module
		}
		if before != nil {
			require.Error(t, after, "the original: %v", before)
			require.Error(t, slicedAfter, "the original: %v", before)
			return
		}
		require.NoError(t, after)
		require.NoError(t, slicedAfter)
		if m := metered.Info.Memory; m == nil || m.HasMax && m.Max <= 4 { // else growth differs
			agree(t, wasm, fuzzLimits)
		}
	})
}
