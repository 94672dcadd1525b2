package fuel_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	. "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// goGuest is a WASI reactor that parses and prints JSON and sorts the names in it.
const goGuest = `package main

import (
	"encoding/json"
	"os"
	"sort"
)

func main() {}

//go:wasmexport run
func run() {
	var names []string
	if err := json.NewDecoder(os.Stdin).Decode(&names); err != nil {
		os.Exit(1)
	}
	sort.Strings(names)
	json.NewEncoder(os.Stdout).Encode(names)
}
`

// buildGo compiles the guest.
func buildGo(t testing.TB) []byte {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(goGuest), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module guest\n\ngo 1.26\n"), 0o600))
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", "guest.wasm", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	wasm, err := os.ReadFile(filepath.Join(dir, "guest.wasm"))
	require.NoError(t, err)
	return wasm
}

// benchSlice is the sandbox's.
const benchSlice = 32 << 10

// runGo runs the guest in a fresh instance and returns its output, the fuel it took and the time after compilation.
func runGo(t testing.TB, config wazero.RuntimeConfig, m *fuel.Instrumented, input string) (string, int64, time.Duration) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	defer runtime.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	compiled, err := runtime.CompileModule(ctx, m.Wasm)
	require.NoError(t, err)
	var out bytes.Buffer
	begin := time.Now()
	mod, err := runtime.InstantiateModule(ctx, compiled,
		wazero.NewModuleConfig().WithStartFunctions().WithStdin(strings.NewReader(input)).WithStdout(&out))
	require.NoError(t, err)
	g := &guest{t: t, mod: mod}
	if m.Info != nil {
		g.metered = m
	}
	const tank = 1 << 40
	boot := g.call(tank, "_initialize")
	require.False(t, boot.failed)
	o := g.call(tank, "run")
	require.False(t, o.failed)
	return out.String(), 2*tank - boot.left - o.left, time.Since(begin)
}

func names(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`"zeta","alpha","müller","beta",`, n), ",") + "]"
}

// A real Go guest of three megabytes passes the gate, prints the same metered and plain, and costs on both engines, in slices, and every
// time, exactly what its instructions do.
func TestGoGuestAgrees(t *testing.T) {
	testneeds.Slow(t, "compiles a Go guest in many ways")
	wasm := buildGo(t)
	metered, err := fuel.Instrument(wasm, fuel.Options{})
	require.NoError(t, err)
	require.Empty(t, metered.Info.SnapshotBlockers())
	naive, err := fuel.InstrumentNaive(wasm, fuel.Options{})
	require.NoError(t, err)
	sliced, err := fuel.Instrument(wasm, fuel.Options{Slice: 1000})
	require.NoError(t, err)
	plain, _, _ := runGo(t, wazero.NewRuntimeConfigCompiler(), &fuel.Instrumented{Wasm: wasm}, names(50))
	require.Contains(t, plain, "alpha")
	var spent []int64
	compiler, interpreter := wazero.NewRuntimeConfigCompiler(), wazero.NewRuntimeConfigInterpreter()
	for _, run := range []struct {
		config wazero.RuntimeConfig
		m      *fuel.Instrumented
	}{{compiler, metered}, {compiler, metered}, {interpreter, metered}, {compiler, sliced}} {
		out, cost, _ := runGo(t, run.config, run.m, names(50))
		require.Equal(t, plain, out)
		spent = append(spent, cost)
	}
	_, counted, _ := runGo(t, interpreter, naive, names(50))
	require.Equal(t, []int64{counted, counted, counted, counted}, spent)
}

func BenchmarkInstrument(b *testing.B) {
	simd, err := os.ReadFile(filepath.Join(wazeroDir(b), "v2", "testdata", "simd_const.0.wasm"))
	require.NoError(b, err)
	for _, c := range []struct {
		name string
		wasm []byte
	}{{"go", buildGo(b)}, {"simd_const", simd}} {
		b.Run(c.name+"/inspect", func(b *testing.B) {
			b.SetBytes(int64(len(c.wasm)))
			for b.Loop() {
				_, err := fuel.Inspect(c.wasm, fuel.Limits{})
				require.NoError(b, err)
			}
		})
		b.Run(c.name+"/instrument", func(b *testing.B) {
			b.SetBytes(int64(len(c.wasm)))
			var m *fuel.Instrumented
			for b.Loop() {
				m, err = fuel.Instrument(c.wasm, fuel.Options{})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(len(m.Wasm))/float64(len(c.wasm)), "size-ratio")
		})
	}
}

// programs are loops of the kinds that rewards are made of; each takes the number of rounds.
var programs = map[string][]Func{
	"empty": {{Export: "f", Params: I32, Body: down("")}},
	"scan": {{Export: "f", Params: I32, Locals: I32, Body: down(
		LocalGet(1) + LocalGet(0) + I32Const(0xffff) + I32And + I32Load8U(0) + I32Add + LocalSet(1))}},
	"hash": {{Export: "f", Params: I32, Locals: I32, Body: down(
		Repeat(8, LocalGet(1)+I32Const(16777619)+I32Mul+LocalGet(0)+I32Xor+LocalSet(1)))}},
	"branchy": {{Export: "f", Params: I32, Locals: I32, Body: down(
		LocalGet(0) + I32Const(3) + I32And + If(LocalGet(1)+I32Const(1)+I32Add+LocalSet(1)) +
			Block(LocalGet(0)+I32Const(7)+I32And+BrIf(0)+LocalGet(1)+I32Const(2)+I32Add+LocalSet(1)))}},
	"leaf": {{Export: "f", Params: I32, Body: down(LocalGet(0) + Call(1) + Drop)},
		{Params: I32, Results: I32, Body: LocalGet(0) + I32Const(1) + I32Xor}},
	"calls": {{Export: "f", Params: I32, Body: down(LocalGet(0) + Call(1) + Drop)},
		{Params: I32, Results: I32, Body: LocalGet(0) + Call(2)},
		{Params: I32, Results: I32, Body: LocalGet(0) + I32Const(1) + I32Xor}},
	"fib": {{Export: "f", Params: I32, Body: I32Const(24) + Call(1) + Drop},
		{Params: I32, Results: I32, Body: LocalGet(0) + I32Const(2) + I32LtS + If(LocalGet(0)+Return) +
			LocalGet(0) + I32Const(1) + I32Sub + Call(1) + LocalGet(0) + I32Const(2) + I32Sub + Call(1) + I32Add}},
}

// down repeats a body while the first parameter counts down to zero.
func down(body Code) Code {
	return Loop(body + LocalGet(0) + I32Const(1) + I32Sub + LocalTee(0) + BrIf(0))
}

// BenchmarkMetered reports the time of a metered run over that of a plain one, whole and in slices, in turns.
func BenchmarkMetered(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		b.Run(name, func(b *testing.B) {
			wasm := Module{Memory: &Memory{Size: Size{Min: 2}}, Funcs: programs[name]}.Bytes()
			guests := []*guest{start(b, 0, wasm), meter(b, 0, wasm, fuel.Options{}), meter(b, 0, wasm, fuel.Options{Slice: benchSlice})}
			const rounds = 100_000
			best := [3]time.Duration{time.Hour, time.Hour, time.Hour}
			for b.Loop() {
				for i, g := range guests {
					begin := time.Now()
					require.False(b, g.call(1<<40, "f", rounds).failed)
					best[i] = min(best[i], time.Since(begin))
				}
			}
			b.ReportMetric(float64(best[1])/float64(best[0]), "ratio")
			b.ReportMetric(float64(best[2])/float64(best[0]), "sliced-ratio")
			b.ReportMetric(float64(best[0].Nanoseconds())/rounds, "plain-ns/round")
		})
	}
	b.Run("go", func(b *testing.B) {
		wasm := buildGo(b)
		metered, err := fuel.Instrument(wasm, fuel.Options{})
		require.NoError(b, err)
		sliced, err := fuel.Instrument(wasm, fuel.Options{Slice: benchSlice})
		require.NoError(b, err)
		cache := wazero.NewCompilationCache()
		config := wazero.NewRuntimeConfigCompiler().WithCompilationCache(cache)
		best := [3]time.Duration{time.Hour, time.Hour, time.Hour}
		for b.Loop() {
			for i, m := range []*fuel.Instrumented{{Wasm: wasm}, metered, sliced} {
				_, _, took := runGo(b, config, m, names(10_000))
				best[i] = min(best[i], took)
			}
		}
		b.ReportMetric(float64(best[1])/float64(best[0]), "ratio")
		b.ReportMetric(float64(best[2])/float64(best[0]), "sliced-ratio")
		b.ReportMetric(best[0].Seconds()*1e3, "plain-ms")
	})
}
