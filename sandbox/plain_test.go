package sandbox_test

import (
	"context"
	"testing"

	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// plain is a module on bare wazero: no meter, no snapshot, wazero's own WASI.
type plain struct {
	module api.Module
	score  float64
}

func newPlain(t *testing.T, wasm []byte) *plain {
	ctx, p := context.Background(), new(plain)
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	text := func(int32, int32) {}
	b := r.NewHostModuleBuilder("merit_v1")
	for name, f := range map[string]any{
		"set_score": func(v float64) { p.score = v }, "reason": text, "error": text,
		"step": func(int32, float64) {}, "step_metric": func(int32, int32, int32, float64) {}, "step_reason": func(int32, int32, int32) {},
		"metric": func(int32, int32, float64) {}, "log": func(int32, int32, int32) {},
	} {
		b.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	_, err := b.Instantiate(ctx)
	require.NoError(t, err)
	p.module, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	require.NoError(t, err)
	return p
}

func (p *plain) evaluate(t *testing.T, input []byte) float64 {
	ctx := context.Background()
	ptr, err := p.module.ExportedFunction("merit_alloc").Call(ctx, uint64(len(input)))
	require.NoError(t, err)
	require.True(t, p.module.Memory().Write(uint32(ptr[0]), input))
	status, err := p.module.ExportedFunction("merit_evaluate").Call(ctx, ptr[0], uint64(len(input)))
	require.NoError(t, err)
	require.Zero(t, status[0])
	return p.score
}

// Promise: metering changes no result: a module on bare wazero gives the same.
func TestMeteredEqualsPlain(t *testing.T) {
	wasm := goGuest(t, "examples/gsm8k")
	bare, m, e := newPlain(t, wasm), load(t, newRuntime(t), wasm), abi.NewEncoder(8<<20)
	for _, x := range answers(t)[:200] {
		input, err := e.Trajectory(x)
		require.NoError(t, err)
		require.Equal(t, bare.evaluate(t, input), m.Evaluate(context.Background(), x).Result.Score, x.ID)
	}
}
