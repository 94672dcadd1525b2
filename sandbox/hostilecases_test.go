package sandbox_test

import (
	"math"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// printing is a WASI command that prints text and returns.
func printing(text string) []byte {
	const at = 16
	return wt.Module{
		Imports: []wt.Import{{Module: wasi, Name: "fd_write", Params: wt.I32 + wt.I32 + wt.I32 + wt.I32, Results: wt.I32}},
		Memory:  &wt.Memory{Export: "memory", Size: wt.Size{Min: 2}},
		Data:    []wt.Data{{Bytes: string([]byte{at, 0, 0, 0, byte(len(text)), byte(len(text) >> 8), 0, 0}) + strings.Repeat("\x00", at-8) + text}},
		Funcs:   []wt.Func{{Export: "_start", Body: wt.I32Const(1) + wt.I32Const(0) + wt.I32Const(1) + wt.I32Const(8) + wt.Call(0) + wt.Drop}},
	}.Bytes()
}

// suiteCase is a module that loads. In a group of two, both members end alike.
type suiteCase struct {
	name    string
	wasm    []byte
	outcome reward.Outcome
	reason  string
}

// suiteCases are all the modules that load and then do what they should not,
// or look as if they did.
func suiteCases() []suiteCase {
	var list []suiteCase
	for _, c := range hostileCases() {
		list = append(list, suiteCase{c.name, c.guest.wasm(), c.outcome, c.reason})
	}
	for _, cases := range [][]hostile{burningCases(), memoryCases(), resultCases()} {
		for _, c := range cases {
			list = append(list, suiteCase{c.name, c.guest.wasm(), c.outcome, c.reason})
		}
	}
	for _, c := range []struct {
		name, text string
		outcome    reward.Outcome
		reason     string
	}{
		{"command: 1e309", `{"score": 1e309}`, reward.ABIViolation, "EvaluateResult"},
		{"command: NaN", `{"score": NaN}`, reward.ABIViolation, "EvaluateResult"},
		{"command: no score", `{"reason": "none"}`, reward.ABIViolation, "EvaluateResult"},
		{"command: nothing", "\n", reward.ABIViolation, "no result"},
		{"command: step far away", `{"score": 1, "step_outputs": [{"step_index": 9e9, "base_reward": 1}]}`, reward.ABIViolation, "EvaluateResult"},
		{"command: control bytes", "\x1b[2J\x00\n" + `{"is_score_valid": false, "reason": "\u001b[31m\u202e"}`, reward.Invalid, `\x1b[31m\u202e`},
		{"command: deep JSON", strings.Repeat("[", 20_000), reward.ABIViolation, "EvaluateResult"},
	} {
		list = append(list, suiteCase{c.name, printing(c.text), c.outcome, c.reason})
	}
	return append(list,
		suiteCase{"command: no memory", bare(wt.Nop), reward.ABIViolation, "no result"},
		suiteCase{"command: no memory, no end", bare(wt.Loop(wt.Br(0))), reward.OutOfFuel, "fuel"},
		suiteCase{"command: no memory, writes nothing", bare(wt.I32Const(1) + wt.Repeat(3, wt.I32Const(0)) + wt.Call(0) + wt.If(wt.Unreachable)), reward.Trap, "unreachable"},
	)
}

// bare is a WASI command without a memory.
func bare(body wt.Code) []byte {
	return wt.Module{
		Imports: []wt.Import{{Module: wasi, Name: "fd_write", Params: wt.I32 + wt.I32 + wt.I32 + wt.I32, Results: wt.I32}},
		Funcs:   []wt.Func{{Export: "_start", Body: body}},
	}.Bytes()
}

// burningCases use up processor time in every way.
func burningCases() []hostile {
	own := func(change func(m *wt.Module, self uint32) wt.Code) func(*wt.Module) {
		return func(m *wt.Module) {
			m.Funcs[2].Body = change(m, uint32(firstOwn+len(m.Funcs))) + wt.I32Const(0)
		}
	}
	mutual := own(func(m *wt.Module, self uint32) wt.Code {
		m.Funcs = append(m.Funcs, wt.Func{Body: wt.Call(self + 1)}, wt.Func{Body: wt.Call(self)})
		return wt.Call(self)
	})
	indirect := own(func(m *wt.Module, self uint32) wt.Code {
		m.Types = []wt.Func{{}}
		m.Tables = []wt.Table{{Size: wt.Size{Min: 1}}}
		m.Elems = []wt.Elem{{Funcs: []uint32{self}}}
		m.Funcs = append(m.Funcs, wt.Func{Body: wt.I32Const(0) + wt.CallIndirect(0, 0)})
		return wt.Call(self)
	})
	table := func(m *wt.Module) { m.Tables = []wt.Table{{Size: wt.Size{Min: 1}}} }
	zero, null := wt.I32Const(0), wt.RefNull(wt.FuncRef)
	farFuture := wt.I32Const(128+24) + wt.I64Const(math.MaxInt64) + wt.I64Store(0) + wt.I32Const(128+16) + wt.I32Const(1) + wt.I32Store(0) +
		wt.I32Const(128) + wt.I32Const(256) + wt.I32Const(1) + wt.I32Const(320) + wt.Call(pollOneoff) + wt.Drop
	return []hostile{
		{"empty loop", guest{evaluate: wt.Loop(wt.Br(0)) + wt.Unreachable}, reward.OutOfFuel, "fuel"},
		{"nested loops", guest{evaluate: wt.Loop(wt.Loop(wt.Loop(zero+wt.BrIf(0), zero+wt.BrIf(1), wt.Br(2)))) + wt.Unreachable}, reward.OutOfFuel, "fuel"},
		{"br_table loop", guest{evaluate: wt.Loop(wt.LocalGet(1)+wt.BrTable(0, 0, 0)) + wt.Unreachable}, reward.OutOfFuel, "fuel"},
		{"mutual recursion", guest{change: mutual}, reward.Trap, "deep"},
		{"indirect recursion", guest{change: indirect}, reward.Trap, "deep"},
		{"memory.copy chain", guest{evaluate: spam(zero + wt.I32Const(1<<17) + wt.I32Const(1<<17) + wt.MemoryCopy)}, reward.OutOfFuel, "fuel"},
		{"table.fill chain", guest{evaluate: wt.I32Const(9000) + wt.LocalSet(2) + null + wt.LocalGet(2) + wt.TableGrow(0) + wt.Drop + spam(zero+null+wt.LocalGet(2)+wt.TableFill(0)), locals: wt.I32, change: table}, reward.OutOfFuel, "fuel"},
		{"table.grow without end", guest{evaluate: spam(null + wt.I32Const(1) + wt.TableGrow(0) + wt.Drop), change: table}, reward.OutOfFuel, "fuel"},
		{"table.grow by nothing", guest{evaluate: spam(null + zero + wt.TableGrow(0) + wt.Drop), change: table}, reward.OutOfFuel, "fuel"},
		{"sleep until the far future, again", guest{evaluate: spam(farFuture)}, reward.OutOfFuel, "fuel"},
		{"sleep until the far future, once", guest{evaluate: farFuture + wt.I32Const(1)}, reward.Invalid, ""},
		{"fuel for one input only", guest{evaluate: wt.LocalGet(1) + wt.LocalSet(2) + wt.Loop(wt.I32Const(1<<10)+wt.LocalSet(3)+wt.Loop(wt.LocalGet(3)+wt.I32Const(1)+wt.I32Sub+wt.LocalTee(3)+wt.BrIf(0)), wt.LocalGet(2)+wt.I32Const(1)+wt.I32Sub+wt.LocalTee(2)+wt.BrIf(0)) + zero, locals: wt.I32 + wt.I32}, reward.OutOfFuel, "fuel"},
	}
}

// memoryCases use up memory, or the host's trust in it.
func memoryCases() []hostile {
	touch := wt.Loop(wt.LocalGet(2)+wt.I32Const(1)+wt.I32Store8(0), wt.LocalGet(2)+wt.I32Const(4096)+wt.I32Add+wt.LocalTee(2)+wt.MemorySize+wt.I32Const(1<<16)+wt.I32Mul+wt.I32LtU+wt.BrIf(0))
	grow := wt.I32Const(12) + wt.MemoryGrow + wt.Drop // to the 16 pages of the limit
	self := func(body wt.Code) func(*wt.Module) {
		return func(m *wt.Module) { m.Funcs[2].Body = body }
	}
	return []hostile{
		{"grows to the cap and touches all", guest{evaluate: grow + touch + wt.I32Const(1), locals: wt.I32}, reward.Invalid, ""},
		{"grows beyond the cap and goes on", guest{evaluate: wt.I32Const(60_000) + wt.MemoryGrow + wt.I32Const(-1) + wt.I32Ne + wt.If(wt.Unreachable) + wt.I32Const(1)}, reward.Invalid, ""},
		{"grows and writes where it could not", guest{evaluate: wt.I32Const(1<<20-4) + wt.I32Const(1) + wt.I32Store(0) + wt.I32Const(1), locals: wt.I32}, reward.Trap, "out of bounds"},
		{"alloc grows memory", guest{alloc: grow + wt.I32Const(15<<16), evaluate: wt.I32Const(1)}, reward.Invalid, ""},
		{"alloc at the very end", guest{alloc: wt.I32Const(4<<16 - 8)}, reward.ABIViolation, "outside"},
		{"enters itself again", guest{change: self(score(1) + wt.LocalGet(0) + wt.LocalGet(1) + wt.Call(firstOwn+2))}, reward.ABIViolation, "twice"},
		{"allocates in evaluate", guest{evaluate: wt.I32Const(-1) + wt.Call(firstOwn+1) + wt.Drop + wt.I32Const(1)}, reward.Invalid, ""},
		{"random of 4 GiB", guest{evaluate: wt.I32Const(0) + wt.I32Const(-1) + wt.Call(randomGet) + wt.If(wt.Unreachable) + wt.I32Const(1)}, reward.Trap, ""},
		{"reads of 4 GiB", guest{evaluate: wt.I32Const(0) + wt.I32Const(64) + wt.I32Const(-1) + wt.I32Const(72) + wt.Call(fdRead) + wt.If(wt.Unreachable) + wt.I32Const(1)}, reward.Trap, ""},
		{"writes of 4 GiB", guest{evaluate: wt.I32Const(1) + wt.I32Const(0) + wt.I32Const(-1) + wt.I32Const(72) + wt.Call(fdWrite) + wt.If(wt.Unreachable) + wt.I32Const(1)}, reward.Trap, ""},
	}
}

// resultCases say what cannot be.
func resultCases() []hostile {
	steps := wt.Loop(wt.LocalGet(2)+wt.F64Const(1)+wt.Call(step), wt.LocalGet(2)+wt.I32Const(1)+wt.I32Add+wt.LocalTee(2)+wt.I32Const(10_000_000)+wt.I32LtU+wt.BrIf(0)) + scored
	digit := func(at, shift int32) wt.Code {
		return wt.I32Const(at) + wt.LocalGet(2) + wt.I32Const(shift) + wt.I32ShrU + wt.I32Const(127) + wt.I32And + wt.I32Store8(0)
	}
	metrics := wt.Loop(digit(0, 0)+digit(1, 7)+digit(2, 14), wt.I32Const(0)+wt.I32Const(3)+wt.F64Const(1)+wt.Call(metric), wt.LocalGet(2)+wt.I32Const(1)+wt.I32Add+wt.LocalSet(2), wt.Br(0)) + wt.I32Const(0)
	return []hostile{
		{"plus infinity", guest{evaluate: score(math.Inf(1)) + scored}, reward.ABIViolation, "finite"},
		{"step infinite", guest{evaluate: wt.I32Const(0) + wt.F64Const(math.Inf(1)) + wt.Call(step) + scored}, reward.ABIViolation, "finite"},
		{"10 M steps", guest{evaluate: steps, locals: wt.I32}, reward.Unaligned, "step 2 does not exist"},
		{"metrics without end", guest{evaluate: metrics, locals: wt.I32}, reward.OutputLimit, "sandbox.steps"},
		{"metric not UTF-8", guest{evaluate: wt.I32Const(0) + wt.I32Const(1) + wt.F64Const(1) + wt.Call(metric) + scored, data: "\xfe"}, reward.ABIViolation, "UTF-8"},
		{"metric with a long name", guest{evaluate: wt.I32Const(0) + wt.I32Const(257) + wt.F64Const(1) + wt.Call(metric) + scored}, reward.ABIViolation, "name"},
		{"reason beyond memory", guest{evaluate: wt.I32Const(4<<16-1) + wt.I32Const(2) + wt.Call(reason) + scored}, reward.ABIViolation, "outside"},
		{"text that wraps around", guest{evaluate: wt.I32Const(-1) + wt.I32Const(2) + wt.Call(reason) + scored}, reward.ABIViolation, "outside"},
		{"control bytes in a reason", guest{evaluate: wt.I32Const(0) + wt.I32Const(4) + wt.Call(reason) + wt.I32Const(1), data: "\x1b\x00\r\x7f"}, reward.Invalid, `\x1b\x00\x0d\x7f`},
		{"log below all levels", guest{evaluate: wt.I32Const(-1) + wt.I32Const(0) + wt.I32Const(0) + wt.Call(logLine) + scored}, reward.ABIViolation, "level"},
		{"group: nothing said of anybody", guest{group: scored}, reward.ABIViolation, "neither"},
		{"group: nothing said of one", guest{group: wt.I32Const(0) + wt.Call(member) + score(1) + scored}, reward.ABIViolation, "neither"},
		{"group: one too many", guest{group: wt.I32Const(2) + wt.Call(member) + score(1) + scored}, reward.ABIViolation, "member(2)"},
		{"group: negative member", guest{group: wt.I32Const(-1) + wt.Call(member) + scored}, reward.ABIViolation, "member(-1)"},
		{"group: a score before a member", guest{group: score(1) + scored}, reward.ABIViolation, "before a call of member()"},
	}
}
