package wasmtest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// Every part of a module that the builder writes is accepted and run by wazero.
func TestModuleRuns(t *testing.T) {
	ctx := context.Background()
	module := wasmtest.Module{
		Memory:  &wasmtest.Memory{Export: "memory", Size: wasmtest.Size{Min: 1, Max: 2}},
		Tables:  []wasmtest.Table{{Size: wasmtest.Size{Min: 3}}},
		Globals: []wasmtest.Global{{Export: "g", Type: wasmtest.I64, Mutable: true}, {Type: wasmtest.F64, Init: wasmtest.F64Const(2)}},
		Elems:   []wasmtest.Elem{{Offset: 1, Funcs: []uint32{0}}, {Passive: true, Funcs: []uint32{0}}},
		Data:    []wasmtest.Data{{Offset: 3, Bytes: "*"}, {Passive: true, Bytes: "x"}},
		Types:   []wasmtest.Func{{Params: wasmtest.I32, Results: wasmtest.I32}},
		Funcs: []wasmtest.Func{
			{Params: wasmtest.I32, Results: wasmtest.I32, Body: wasmtest.LocalGet(0) + wasmtest.I32Load8U(0)},
			{
				Export: "run", Params: wasmtest.I32, Results: wasmtest.I32, Locals: wasmtest.I32 + wasmtest.I64,
				Body: wasmtest.LocalGet(0) + wasmtest.I32Const(1) + wasmtest.CallIndirect(0, 0),
			},
			{Body: wasmtest.I64Const(-7) + wasmtest.GlobalSet(0)},
		},
		Start:   3,
		Customs: []wasmtest.Custom{{Name: "note", Content: "hello"}},
	}
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	mod, err := r.Instantiate(ctx, module.Bytes())
	require.NoError(t, err)
	got, err := mod.ExportedFunction("run").Call(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []uint64{'*'}, got)
	require.EqualValues(t, -7, int64(mod.ExportedGlobal("g").Get()))
}
