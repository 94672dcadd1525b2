package fuel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/merit-rl/merit/sandbox/fuel"
)

const depth = 1500 // below the interpreter's own ceiling of 2,000 frames

// guest is an instantiated module; metered is nil if it runs plain.
type guest struct {
	t       testing.TB
	mod     api.Module
	metered *fuel.Instrumented
}

// start instantiates a module on an engine; host functions may be given as a module of the same runtime.
func start(t testing.TB, engine int, wasm []byte) *guest {
	g, err := instantiate(t, engine, wasm)
	require.NoError(t, err)
	return g
}

func instantiate(t testing.TB, engine int, wasm []byte) (*guest, error) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, engines[engine].config())
	t.Cleanup(func() { require.NoError(t, runtime.Close(ctx)) })
	mod, err := runtime.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions())
	return &guest{t: t, mod: mod}, err
}

// meter instruments and instantiates a module.
func meter(t testing.TB, engine int, wasm []byte, options fuel.Options) *guest {
	metered, err := fuel.Instrument(wasm, options)
	require.NoError(t, err)
	g := start(t, engine, metered.Wasm)
	g.metered = metered
	return g
}

func (g *guest) set(global string, value int64) {
	g.mod.ExportedGlobal(global).(api.MutableGlobal).Set(uint64(value))
}

func (g *guest) get(global string) int64 { return int64(g.mod.ExportedGlobal(global).Get()) }

// outcome is what a call came to. left and deep are the counters after it.
type outcome struct {
	results    []uint64
	failed     bool
	left, deep int64
}

// call runs an exported function with the given fuel.
func (g *guest) call(tank int64, name string, args ...uint64) outcome {
	if g.metered != nil {
		g.set(fuel.FuelGlobal, tank)
		g.set(fuel.DepthGlobal, depth)
	}
	results, err := g.mod.ExportedFunction(name).Call(context.Background(), args...)
	o := outcome{results: results, failed: err != nil}
	if g.metered != nil {
		o.left, o.deep = g.get(fuel.FuelGlobal), g.get(fuel.DepthGlobal)
	}
	return o
}

// memory returns the content of the memory, or nil.
func (g *guest) memory() []byte {
	m := g.mod.Memory()
	if m == nil {
		return nil
	}
	b, _ := m.Read(0, m.Size())
	return b
}
