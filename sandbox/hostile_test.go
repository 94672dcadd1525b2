package sandbox_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/stretchr/testify/require"
)

// forever loops without end.
var forever = wt.Loop(wt.Br(0)) + wt.I32Const(0)

// spam repeats a call without end.
func spam(call wt.Code) wt.Code { return wt.Loop(call, wt.Br(0)) + wt.I32Const(0) }

type hostile struct {
	name    string
	guest   guest
	outcome reward.Outcome
	reason  string // part of the reason
}

// hostileCases are modules that load and then misbehave.
func hostileCases() []hostile {
	bomb := func(m *wt.Module) {
		first := uint32(firstOwn + len(m.Funcs))
		for n := range uint32(40) {
			body := wt.Nop
			if n < 39 {
				body = wt.Call(first+n+1) + wt.Call(first+n+1)
			}
			m.Funcs = append(m.Funcs, wt.Func{Body: body})
		}
		m.Funcs[2].Body = wt.Call(first) + wt.I32Const(0)
	}
	recursion := func(locals int) func(*wt.Module) {
		return func(m *wt.Module) {
			self := uint32(firstOwn + len(m.Funcs))
			m.Funcs = append(m.Funcs, wt.Func{Locals: wt.Types(strings.Repeat(string(wt.I64), locals)), Body: wt.Call(self)})
			m.Funcs[2].Body = wt.Call(self) + wt.I32Const(0)
		}
	}
	iovec := string([]byte{16, 0, 0, 0, 64, 0, 0, 0}) + strings.Repeat("\x00", 8) + strings.Repeat("\x1b[31mred\n", 10)
	nan := wt.F64Const(math.NaN())
	return []hostile{
		{"endless loop", guest{evaluate: forever}, reward.OutOfFuel, "fuel"},
		{"endless loop in alloc", guest{alloc: forever}, reward.OutOfFuel, "fuel"},
		{"call bomb without a loop", guest{change: bomb}, reward.OutOfFuel, "fuel"},
		{"small frame recursion", guest{change: recursion(0)}, reward.Trap, "deep"},
		{"large frame recursion", guest{change: recursion(5000)}, reward.Trap, "deep"},
		{"memory.fill chain", guest{evaluate: spam(wt.I32Const(0) + wt.I32Const(1) + wt.I32Const(1<<18) + wt.MemoryFill)}, reward.OutOfFuel, "fuel"},
		{"grow by nothing", guest{evaluate: spam(wt.I32Const(0) + wt.MemoryGrow + wt.Drop)}, reward.OutOfFuel, "fuel"},
		{"host call chain", guest{evaluate: spam(wt.I32Const(0) + wt.I32Const(1<<17) + wt.Call(randomGet) + wt.Drop)}, reward.OutOfFuel, "fuel"},
		{"clock-polling sleep", guest{evaluate: spam(wt.I32Const(1) + wt.I64Const(0) + wt.I32Const(0) + wt.Call(clockTimeGet) + wt.Drop)}, reward.OutOfFuel, "fuel"},
		{"log spam", guest{evaluate: spam(wt.I32Const(1) + wt.I32Const(16) + wt.I32Const(40) + wt.Call(logLine)), data: iovec}, reward.OutOfFuel, "fuel"},
		{"print spam", guest{evaluate: spam(wt.I32Const(1) + wt.I32Const(0) + wt.I32Const(1) + wt.I32Const(8) + wt.Call(fdWrite) + wt.Drop), data: iovec}, reward.OutOfFuel, "fuel"},
		{"huge reason", guest{evaluate: spam(wt.I32Const(1<<16) + wt.I32Const(1<<17) + wt.Call(reason))}, reward.OutputLimit, "output_kib"},
		{"grows until refused, then traps", guest{evaluate: wt.Loop(wt.I32Const(1)+wt.MemoryGrow+wt.I32Const(-1)+wt.I32Ne+wt.BrIf(0)) + wt.Unreachable}, reward.OutOfMemory, "memory_mib"},
		{"unreachable", guest{evaluate: wt.Unreachable}, reward.Trap, "unreachable"},
		{"division by zero", guest{evaluate: wt.I32Const(1) + wt.I32Const(0) + wt.I32DivS}, reward.Trap, "divide by zero"},
		{"out of bounds", guest{evaluate: wt.I32Const(-1) + wt.I32Load(0)}, reward.Trap, "out of bounds"},
		{"exit 0", guest{evaluate: wt.I32Const(0) + wt.Call(procExit) + wt.Unreachable}, reward.ABIViolation, "exited"},
		{"exit 1", guest{evaluate: wt.I32Const(1) + wt.Call(procExit) + wt.Unreachable}, reward.Trap, "status 1"},

		{"alloc gives 0", guest{alloc: wt.I32Const(0)}, reward.ABIViolation, "merit_alloc"},
		{"alloc out of range", guest{alloc: wt.I32Const(1 << 18)}, reward.ABIViolation, "outside"},
		{"alloc wraps", guest{alloc: wt.I32Const(-8)}, reward.ABIViolation, "outside"},
		{"alloc unaligned", guest{alloc: wt.I32Const(inputAt + 4)}, reward.ABIViolation, "multiple of 8"},
		{"unknown status", guest{evaluate: score(1) + wt.I32Const(3)}, reward.ABIViolation, "status"},
		{"negative status", guest{evaluate: score(1) + wt.I32Const(-1)}, reward.ABIViolation, "status"},
		{"no score", guest{evaluate: scored}, reward.ABIViolation, "set_score"},
		{"two scores", guest{evaluate: score(1) + score(1) + scored}, reward.ABIViolation, "twice"},
		{"NaN", guest{evaluate: nan + wt.Call(setScore) + scored}, reward.ABIViolation, "finite"},
		{"infinite", guest{evaluate: score(math.Inf(-1)) + scored}, reward.ABIViolation, "finite"},
		{"text of 4 GiB", guest{evaluate: wt.I32Const(0) + wt.I32Const(-1) + wt.Call(reason) + scored}, reward.ABIViolation, "outside"},
		{"text not UTF-8", guest{evaluate: wt.I32Const(0) + wt.I32Const(1) + wt.Call(reason) + score(1) + scored, data: "\xff"}, reward.ABIViolation, "UTF-8"},
		{"step negative", guest{evaluate: wt.I32Const(-1) + wt.F64Const(1) + wt.Call(step) + scored}, reward.ABIViolation, "negative"},
		{"step twice", guest{evaluate: wt.Repeat(2, wt.I32Const(1)+wt.F64Const(1)+wt.Call(step)) + scored}, reward.ABIViolation, "twice"},
		{"step NaN", guest{evaluate: wt.I32Const(0) + nan + wt.Call(step) + scored}, reward.ABIViolation, "finite"},
		{"step that does not exist", guest{evaluate: wt.I32Const(2) + wt.F64Const(1) + wt.Call(step) + scored}, reward.Unaligned, "does not exist"},
		{"step far away", guest{evaluate: wt.I32Const(math.MaxInt32) + wt.F64Const(1) + wt.Call(step) + scored}, reward.Unaligned, "does not exist"},
		{"step reason without a step", guest{evaluate: wt.I32Const(0) + wt.I32Const(0) + wt.I32Const(0) + wt.Call(stepReason) + scored}, reward.ABIViolation, "has no reward yet"},
		{"metric twice", guest{evaluate: wt.Repeat(2, wt.I32Const(0)+wt.I32Const(1)+wt.F64Const(1)+wt.Call(metric)) + scored, data: "a"}, reward.ABIViolation, "twice"},
		{"metric without a name", guest{evaluate: wt.I32Const(0) + wt.I32Const(0) + wt.F64Const(1) + wt.Call(metric) + scored}, reward.ABIViolation, "name"},
		{"metric NaN", guest{evaluate: wt.I32Const(0) + wt.I32Const(1) + nan + wt.Call(metric) + scored, data: "a"}, reward.ABIViolation, "finite"},
		{"member outside of a group", guest{evaluate: wt.I32Const(1) + wt.Call(member) + scored}, reward.ABIViolation, "member(1)"},
		{"the one member outside of a group", guest{evaluate: wt.I32Const(0) + wt.Call(member) + score(1) + scored}, reward.ABIViolation, "outside of a group"},
		{"a score from merit_alloc", guest{change: inAlloc(score(1))}, reward.ABIViolation, "sent by merit_alloc"},
		{"a member from merit_alloc", guest{change: inAlloc(wt.I32Const(0) + wt.Call(member))}, reward.ABIViolation, "sent by merit_alloc"},
		{"an error from merit_alloc", guest{change: inAlloc(wt.I32Const(0) + wt.I32Const(0) + wt.Call(fail))}, reward.ABIViolation, "sent by merit_alloc"},
		{"unknown log level", guest{evaluate: wt.I32Const(9) + wt.I32Const(0) + wt.I32Const(0) + wt.Call(logLine) + scored}, reward.ABIViolation, "level"},
		{"error without words", guest{evaluate: wt.I32Const(2)}, reward.GuestError, "without a message"},
		{"error", guest{evaluate: wt.I32Const(0) + wt.I32Const(5) + wt.Call(fail) + wt.I32Const(2), data: "no\x1b[2"}, reward.GuestError, `no\x1b[2`},
		{"invalid", guest{evaluate: wt.I32Const(0) + wt.I32Const(4) + wt.Call(reason) + wt.I32Const(1), data: "odd!"}, reward.Invalid, "odd!"},
	}
}

func small() *rl.Trajectory {
	return &rl.Trajectory{ID: "t", Messages: []rl.Message{
		{Role: rl.RoleUser, Content: rl.Text("2 + 2?")}, {Role: rl.RoleAssistant, Content: rl.Text("let me see")},
		{Role: rl.RoleUser, Content: rl.Text("well?")}, {Role: rl.RoleAssistant, Content: rl.Text("A: 4")},
	}, GroundTruth: []byte(`"4"`)}
}

func smallFuel(c *sandbox.Config) { c.Fuel, c.Workers, c.MemoryMiB = 2_000_000, 2, 1 }

// Promise: the budget is exact: with one unit less an evaluation has no score.
func TestFuelBoundaryIsExact(t *testing.T) {
	wasm := guest{
		evaluate: wt.I32Const(100_000) + wt.LocalSet(2) + wt.Loop(wt.LocalGet(2)+wt.I32Const(1)+wt.I32Sub+wt.LocalTee(2)+wt.BrIf(0)) + score(1) + scored,
		locals:   wt.I32,
	}.wasm()
	used := load(t, newRuntime(t), wasm).Evaluate(context.Background(), small()).Fuel
	require.Greater(t, used, uint64(500_000))
	for _, c := range []struct {
		fuel uint64
		want reward.Outcome
	}{{used - 1, reward.OutOfFuel}, {used, reward.Scored}, {used + 1, reward.Scored}} {
		e := load(t, newRuntime(t, func(cfg *sandbox.Config) { cfg.Fuel = c.fuel }), wasm).Evaluate(context.Background(), small())
		require.Equal(t, c.want, e.Outcome, "fuel %d of %d", c.fuel, used)
	}
}

// Promise: what a module may not do fails as if it were not there.
func TestNoAuthority(t *testing.T) {
	zeros := func(n int) wt.Code { return wt.Repeat(n, wt.I32Const(0)) }
	none := func(sizes uint32) wt.Code { // how many there are, and how many bytes they take
		return wt.I32Const(64) + wt.I64Const(-1) + wt.I64Store(0) + wt.I32Const(64) + wt.I32Const(68) + wt.Call(sizes) + wt.Drop +
			wt.I32Const(64) + wt.I32Load(0) + wt.If(wt.Unreachable) + wt.I32Const(68) + wt.I32Load(0) + wt.If(wt.Unreachable)
	}
	gives := func(errno int32, call wt.Code) wt.Code {
		return call + wt.I32Const(errno) + wt.I32Ne + wt.If(wt.Unreachable)
	}
	const path, closed, isFolder, noEntry = "etc/passwd", 8, 31, 44
	wasm := guest{data: path, evaluate: gives(noEntry, wt.I32Const(3)+zeros(2)+wt.I32Const(int32(len(path)))+zeros(1)+wt.Repeat(2, wt.I64Const(0))+zeros(2)+wt.Call(pathOpen)) +
		// an empty folder, so that C libraries ask for what is in it
		gives(0, wt.I32Const(3)+wt.I32Const(64)+wt.Call(fdPrestatGet)) +
		gives(isFolder, wt.I32Const(3)+zeros(3)+wt.Call(fdRead)) +
		gives(closed, zeros(5)+wt.Call(sockSend)) +
		gives(closed, wt.I32Const(3)+zeros(3)+wt.Call(fdWrite)) +
		none(environSizesGet) + none(argsSizesGet) +
		// standard input is at its end
		wt.I32Const(72) + wt.I32Const(-1) + wt.I32Store(0) + wt.I32Const(0) + wt.I32Const(80) + wt.I32Const(1) + wt.I32Const(72) + wt.Call(fdRead) + wt.Drop +
		wt.I32Const(72) + wt.I32Load(0) + wt.If(wt.Unreachable) +
		score(1) + scored}.wasm()
	e := load(t, newRuntime(t), wasm).Evaluate(context.Background(), small())
	require.Equal(t, reward.GuestError, e.Outcome, e.Reason)
	require.Contains(t, e.Reason, "the reward tried to use a file that is not part of it: path_open /etc/passwd\nthe reward tried to use the network: sock_send")
}

// Promise: clock and random numbers are the same at every evaluation, and
// waiting takes no time.
func TestClockAndRandomStartAnew(t *testing.T) {
	// score = low 32 bits of random + clock after a wait of an hour
	wasm := guest{evaluate: wt.I32Const(64) + wt.I32Const(8) + wt.Call(randomGet) + wt.Drop +
		wt.I32Const(128+24) + wt.I64Const(3_600_000_000_000) + wt.I64Store(0) + wt.I32Const(128+16) + wt.I32Const(1) + wt.I32Store(0) +
		wt.I32Const(128) + wt.I32Const(256) + wt.I32Const(1) + wt.I32Const(320) + wt.Call(pollOneoff) + wt.Drop +
		wt.I32Const(1) + wt.I64Const(0) + wt.I32Const(72) + wt.Call(clockTimeGet) + wt.Drop +
		wt.I32Const(64) + wt.I64Load(0) + wt.I32Const(72) + wt.I64Load(0) + wt.I64Add + "\xb9" + wt.Call(setScore) + scored}.wasm()
	m := load(t, newRuntime(t), wasm)
	start := time.Now()
	first := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, first.Outcome, first.Reason)
	require.NotZero(t, first.Result.Score)
	for range 5 {
		require.Equal(t, first.Result, m.Evaluate(context.Background(), small()).Result)
	}
	require.Less(t, time.Since(start), soon)
}

// inAlloc has merit_alloc do something before it allocates.
func inAlloc(first wt.Code) func(*wt.Module) {
	return func(m *wt.Module) {
		for i := range m.Funcs {
			if f := &m.Funcs[i]; f.Export == "merit_alloc" {
				f.Body = first + f.Body
			}
		}
	}
}

// Promise: the maximum that a module declares holds where the limit is above it: growth beyond it fails, as WebAssembly says.
func TestDeclaredMaximumHolds(t *testing.T) {
	for pages, want := range map[int32]float64{1: 2, 2: -1} {
		g := guest{evaluate: wt.I32Const(pages) + wt.MemoryGrow + wt.Code("\xb7") + wt.Call(setScore) + scored} // f64.convert_i32_s
		m := g.module()
		m.Memory.Size = wt.Size{Min: 2, Max: 3}
		wasm, err := sandbox.WithManifest(m.Bytes(), sandbox.Manifest{WarmUp: sandbox.WarmUpOff})
		require.NoError(t, err)
		for _, interpreted := range []bool{false, true} {
			r := newRuntime(t, func(c *sandbox.Config) { c.Interpreter, c.Isolation = interpreted, sandbox.Fresh })
			e := load(t, r, wasm).Evaluate(context.Background(), small())
			require.Equal(t, reward.Scored, e.Outcome, e.Reason)
			require.Equal(t, want, e.Result.Score)
		}
	}
}
