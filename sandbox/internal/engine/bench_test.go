package engine_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

var languages = []string{"assemblyscript", "c", "cpp", "go", "rust"}

// guest returns an example reward: committed, or built if it is in Go.
func guest(b *testing.B, language, program string) []byte {
	path := filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests", language, program+".wasm")
	if language == "go" {
		source := "./examples/" + program
		if program == "answer" {
			source = "./examples/gsm8k"
		}
		path = filepath.Join(b.TempDir(), "guest.wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", path, source)
		cmd.Dir, cmd.Env = testneeds.Root(), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		text, err := cmd.CombinedOutput()
		require.NoError(b, err, string(text))
	}
	wasm, err := os.ReadFile(path)
	require.NoError(b, err)
	return wasm
}

// fiveKB is the conversation that the design's targets speak of.
func fiveKB(b *testing.B) *rl.Trajectory {
	data, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/bench/conversation.json"))
	require.NoError(b, err)
	t := new(rl.Trajectory)
	require.NoError(b, json.Unmarshal(data, t))
	return t
}

// bare is a module on wazero alone, used again without a restore.
type bare struct {
	module          api.Module
	alloc, evaluate api.Function
	fuel, depth     api.MutableGlobal // nil unless metered
	score           float64
	stack           [2]uint64
}

// newBare instantiates a module; host functions are as cheap as wazero has
// them, and do nothing but take the score.
func newBare(b *testing.B, wasm []byte, metered, interruption bool) *bare {
	ctx, p := context.Background(), new(bare)
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(interruption))
	b.Cleanup(func() { require.NoError(b, r.Close(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	merit := r.NewHostModuleBuilder("merit_v1")
	i, d := api.ValueTypeI32, api.ValueTypeF64
	for name, params := range map[string][]api.ValueType{
		"set_score": {d}, "step": {i, d}, "step_metric": {i, i, i, d}, "step_reason": {i, i, i}, "metric": {i, i, d},
		"reason": {i, i}, "error": {i, i}, "log": {i, i, i}, "member": {i},
	} {
		call := func(context.Context, api.Module, []uint64) {}
		if name == "set_score" {
			call = func(_ context.Context, _ api.Module, stack []uint64) { p.score = math.Float64frombits(stack[0]) }
		}
		merit.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(call), params, nil).Export(name)
	}
	env := r.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(context.Context, api.Module, []uint64) { panic("abort") }), []api.ValueType{i, i, i, i}, nil).Export("abort")
	for _, host := range []wazero.HostModuleBuilder{merit, env} {
		_, err := host.Instantiate(ctx)
		require.NoError(b, err)
	}
	var err error
	p.module, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions())
	require.NoError(b, err)
	if metered {
		p.fuel = p.module.ExportedGlobal(fuel.FuelGlobal).(api.MutableGlobal)
		p.depth = p.module.ExportedGlobal(fuel.DepthGlobal).(api.MutableGlobal)
		p.refuel()
	}
	if start := p.module.ExportedFunction("_initialize"); start != nil {
		_, err = start.Call(ctx)
		require.NoError(b, err)
	}
	p.alloc, p.evaluate = p.module.ExportedFunction("merit_alloc"), p.module.ExportedFunction("merit_evaluate")
	if group := p.module.ExportedFunction("merit_evaluate_group"); group != nil {
		p.evaluate = group
	}
	return p
}

func (p *bare) refuel() {
	if p.fuel != nil {
		p.fuel.Set(500_000_000)
		p.depth.Set(10_000)
	}
}

// run evaluates an encoded input.
func (p *bare) run(b *testing.B, ctx context.Context, input []byte) {
	p.refuel()
	p.stack[0] = uint64(len(input))
	if err := p.alloc.CallWithStack(ctx, p.stack[:]); err != nil {
		b.Fatal(err)
	}
	ptr := uint32(p.stack[0])
	room, ok := p.module.Memory().Read(ptr, uint32(len(input)))
	if !ok {
		b.Fatal("no room")
	}
	copy(room, input)
	p.stack = [2]uint64{uint64(ptr), uint64(len(input))}
	if err := p.evaluate.CallWithStack(ctx, p.stack[:]); err != nil {
		b.Fatal(err)
	}
	if p.stack[0] != 0 {
		b.Fatal("not scored")
	}
}

// What Merit's evaluations are compared with: wazero alone, without a meter and
// without a restore, once without any bound on time and once with wazero's own.
func BenchmarkWazero(b *testing.B) {
	x := fiveKB(b)
	for _, mode := range []string{"unbounded", "interruption"} {
		for _, language := range languages {
			b.Run(mode+"/"+language, func(b *testing.B) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				p, e := newBare(b, guest(b, language, "answer"), false, mode == "interruption"), abi.NewEncoder(8<<20)
				for b.Loop() {
					input, err := e.Trajectory(x)
					if err != nil {
						b.Fatal(err)
					}
					p.run(b, ctx, input)
				}
				require.Equal(b, 1.0, p.score)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
			})
		}
	}
}

// The price of the meter alone: the time of a metered call over that of a plain
// one, for every example reward in every language, in turns; the fastest of
// the rounds each. What counts is the geometric mean.
func BenchmarkMetering(b *testing.B) {
	x, e := fiveKB(b), abi.NewEncoder(8<<20)
	group := *x
	group.Messages = append(slices.Clone(x.Messages), rl.Message{Role: rl.RoleAssistant, Content: rl.Text("A: 17")})
	sum, n := 0.0, 0
	for _, program := range []string{"answer", "tools", "ranking"} {
		input, err := e.Trajectory(x)
		if program == "ranking" {
			input, err = e.Group([]*rl.Trajectory{x, &group, x, &group})
		}
		require.NoError(b, err)
		input = slices.Clone(input)
		for _, language := range languages {
			b.Run(program+"/"+language, func(b *testing.B) {
				wasm := guest(b, language, program)
				meta, err := fuel.Instrument(wasm, fuel.Options{})
				require.NoError(b, err)
				modes := [2]*bare{newBare(b, wasm, false, false), newBare(b, meta.Wasm, true, false)}
				best := [2]time.Duration{time.Hour, time.Hour}
				for b.Loop() {
					for range 20 {
						for i, p := range modes {
							const calls = 64
							begin := time.Now()
							for range calls {
								p.run(b, context.Background(), input)
							}
							best[i] = min(best[i], time.Since(begin)/calls)
						}
					}
				}
				ratio := float64(best[1]) / float64(best[0])
				sum, n = sum+math.Log(ratio), n+1
				b.ReportMetric(ratio, "ratio")
				b.ReportMetric(float64(best[0].Nanoseconds()), "plain-ns")
			})
		}
	}
	b.Run("mean", func(b *testing.B) {
		for b.Loop() { // nothing: the mean of the above
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(math.Exp(sum/float64(n)), "ratio")
	})
}

// How long after its budget a module is stopped: with a budget of one unit all
// of the time until the host has the outcome is too late.
func BenchmarkKill(b *testing.B) {
	spin := wt.Loop(wt.Br(0))
	fill := wt.Loop(wt.I32Const(0) + wt.I32Const(1) + wt.I32Const(4<<20) + wt.MemoryFill + wt.Br(0))
	straight := wt.LocalGet(0) + wt.Repeat(300_000, wt.I32Const(7)+wt.I32DivS) + wt.Drop
	for _, c := range []struct {
		name string
		body []wt.Func
	}{
		{"loop", []wt.Func{{Export: "f", Body: spin}}},
		{"straight", []wt.Func{{Export: "f", Locals: wt.I32, Body: straight}}},
		{"fill", []wt.Func{{Export: "f", Body: fill}}},
		{"recursion", []wt.Func{{Export: "f", Body: wt.Call(0)}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			wasm := wt.Module{Memory: &wt.Memory{Export: "memory", Size: wt.Size{Min: 65}}, Funcs: c.body}.Bytes()
			e, err := engine.New(engine.Options{})
			require.NoError(b, err)
			defer e.Close()
			p, err := e.Compile(b.Context(), engine.Bytes(wasm), fuel.Options{}, func(*fuel.Info) error { return nil })
			require.NoError(b, err)
			defer p.Close(b.Context())
			i, err := p.Instantiate(b.Context(), 64<<20)
			require.NoError(b, err)
			defer i.Close()
			f, took := i.Func("f"), []time.Duration{}
			for b.Loop() {
				begin := time.Now()
				i.Begin(b.Context(), engine.Budget{Fuel: 1, Depth: 10_000, Wall: time.Minute})
				_, stop := i.Call(f)
				_, _ = i.End()
				took = append(took, time.Since(begin))
				if stop == nil || stop.Kind != engine.OutOfFuel {
					b.Fatal(stop)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
			b.ReportMetric(float64(took[len(took)-1].Nanoseconds())/1e3, "worst-µs")
		})
	}
}
