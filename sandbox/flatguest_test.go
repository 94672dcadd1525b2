package sandbox_test

import (
	"github.com/merit-rl/merit/core/rl"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// The functions that every module of flatGuest imports, by index.
const (
	setScore = iota
	step
	stepMetric
	stepReason
	metric
	reason
	fail
	logLine
	member
	procExit
	fdWrite
	randomGet
	clockTimeGet
	pollOneoff
	pathOpen
	fdRead
	fdPrestatGet
	environSizesGet
	argsSizesGet
	sockSend
	firstOwn // index of merit_abi_1, the first function of the module's own
)

const wasi = "wasi_snapshot_preview1"

var flatImports = []wt.Import{
	{Module: "merit_v1", Name: "set_score", Params: wt.F64},
	{Module: "merit_v1", Name: "step", Params: wt.I32 + wt.F64},
	{Module: "merit_v1", Name: "step_metric", Params: wt.I32 + wt.I32 + wt.I32 + wt.F64},
	{Module: "merit_v1", Name: "step_reason", Params: wt.I32 + wt.I32 + wt.I32},
	{Module: "merit_v1", Name: "metric", Params: wt.I32 + wt.I32 + wt.F64},
	{Module: "merit_v1", Name: "reason", Params: wt.I32 + wt.I32},
	{Module: "merit_v1", Name: "error", Params: wt.I32 + wt.I32},
	{Module: "merit_v1", Name: "log", Params: wt.I32 + wt.I32 + wt.I32},
	{Module: "merit_v1", Name: "member", Params: wt.I32},
	{Module: wasi, Name: "proc_exit", Params: wt.I32},
	{Module: wasi, Name: "fd_write", Params: wt.I32 + wt.I32 + wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "random_get", Params: wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "clock_time_get", Params: wt.I32 + wt.I64 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "poll_oneoff", Params: wt.I32 + wt.I32 + wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "path_open", Params: wt.I32 + wt.I32 + wt.I32 + wt.I32 + wt.I32 + wt.I64 + wt.I64 + wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "fd_read", Params: wt.I32 + wt.I32 + wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "fd_prestat_get", Params: wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "environ_sizes_get", Params: wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "args_sizes_get", Params: wt.I32 + wt.I32, Results: wt.I32},
	{Module: wasi, Name: "sock_send", Params: wt.I32 + wt.I32 + wt.I32 + wt.I32 + wt.I32, Results: wt.I32},
}

// inputAt is where the modules of flatGuest take their input.
const inputAt = 4096

// guest is a small reward module. Evaluate and Alloc are bodies; an empty one
// is replaced: alloc gives inputAt, evaluate scores 1. Data lies at 0. The
// module has four pages and one mutable global, index 0.
type guest struct {
	evaluate, alloc, group wt.Code
	locals                 wt.Types
	data                   string
	change                 func(*wt.Module)
}

// scored ends a body with the status 0.
const scored = wt.Code("\x41\x00") // i32.const 0

func score(v float64) wt.Code { return wt.F64Const(v) + wt.Call(setScore) }

func (g guest) module() wt.Module {
	if g.evaluate == "" {
		g.evaluate = score(1) + scored
	}
	if g.alloc == "" {
		g.alloc = wt.I32Const(inputAt)
	}
	m := wt.Module{
		Imports: flatImports,
		Memory:  &wt.Memory{Export: "memory", Size: wt.Size{Min: 4}},
		Globals: []wt.Global{{Type: wt.I64, Mutable: true, Init: wt.I64Const(0)}},
		Funcs: []wt.Func{
			{Export: "merit_abi_1"},
			{Export: "merit_alloc", Params: wt.I32, Results: wt.I32, Body: g.alloc},
			{Export: "merit_evaluate", Params: wt.I32 + wt.I32, Results: wt.I32, Locals: g.locals, Body: g.evaluate},
		},
	}
	if g.group != "" {
		m.Funcs = append(m.Funcs, wt.Func{Export: "merit_evaluate_group", Params: wt.I32 + wt.I32, Results: wt.I32, Locals: g.locals, Body: g.group})
	}
	if g.data != "" {
		m.Data = []wt.Data{{Bytes: g.data}}
	}
	if g.change != nil {
		g.change(&m)
	}
	return m
}

// withBody adds an exported function without parameters.
func withBody(export string, body wt.Code) func(*wt.Module) {
	return func(m *wt.Module) { m.Funcs = append(m.Funcs, wt.Func{Export: export, Body: body}) }
}

func (g guest) wasm() []byte { return g.module().Bytes() }

// endlessOn never returns for a conversation of n messages and scores others.
func endlessOn(n int32) []byte {
	return guest{evaluate: wt.LocalGet(0) + wt.I32Load(24) + wt.I32Const(n) + wt.I32Eq + wt.If(wt.Loop(wt.Br(0))) + score(1) + scored}.wasm()
}

// long is a conversation of n messages.
func long(n int) *rl.Trajectory {
	t := small()
	for len(t.Messages) < n {
		t.Messages = append(t.Messages, rl.Message{Role: rl.RoleUser, Content: rl.Text("and?")})
	}
	return t
}
