package sandbox_test

import (
	"strings"

	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

type refusedCase struct {
	name string
	wasm []byte
	want string // part of what is said
}

// refusedCases are modules that never run.
func refusedCases() []refusedCase {
	with := func(change func(*wt.Module)) []byte { return guest{change: change}.wasm() }
	body := func(code wt.Code) []byte {
		return with(func(m *wt.Module) { m.Funcs = append(m.Funcs, wt.Func{Body: code}) })
	}
	export := func(name string, code wt.Code) []byte {
		return with(func(m *wt.Module) { m.Funcs = append(m.Funcs, wt.Func{Export: name, Body: code}) })
	}
	rename := func(from, to string) []byte {
		return with(func(m *wt.Module) {
			for i := range m.Funcs {
				if m.Funcs[i].Export == from {
					m.Funcs[i].Export = to
				}
			}
		})
	}
	raw := func(sections ...string) []byte { return []byte(wt.Header + strings.Join(sections, "")) }
	good := guest{}.wasm()
	var ssa strings.Builder
	for i := range uint32(4000) {
		ssa.WriteString(string(wt.I32Const(1) + wt.If(wt.LocalGet(i*7%4000)+wt.LocalSet(i*13%4000))))
	}
	return []refusedCase{
		{"truncated", good[:len(good)-3], "offset"},
		{"overlong LEB", raw("\x01\x80\x80\x80\x80\x80\x00"), "overlong"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "component"},
		{"2^27 functions", raw("\x01\x04\x01\x60\x00\x00", wt.Section(3, wt.U32(1<<27))), "134217728"},
		{"1 GB custom section", raw("\x00" + wt.U32(1<<30)), "1073741824"},
		{"shared memory", raw(wt.Section(5, "\x01\x03\x01\x01")), "threads"},
		{"64-bit memory", raw(wt.Section(5, "\x01\x04\x01")), "64-bit"},
		{"two memories", raw(wt.Section(5, "\x02\x00\x01\x00\x01")), "second memory"},
		{"exceptions", raw(wt.Section(13, "\x00")), "exception"},
		{"tail-call loop", body("\x12\x00"), "tail calls"},
		{"atomics", body("\xfe\x03\x00"), "threads"},
		{"SSA bomb", with(func(m *wt.Module) {
			m.Funcs = append(m.Funcs, wt.Func{Locals: wt.Types(strings.Repeat(string(wt.I32), 4000)), Body: wt.Code(ssa.String())})
		}), "Complexity"},
		{"br_table of 200 k", body(wt.Block(wt.I32Const(0) + wt.BrTable(make([]uint32, 200_000)...))), "br_table"},
		{"5 k nested blocks", body(wt.Repeat(5000, "\x02\x40") + wt.Repeat(5000, wt.End)), "nested"},
		{"50 k locals", with(func(m *wt.Module) {
			m.Funcs = append(m.Funcs, wt.Func{Locals: wt.Types(strings.Repeat(string(wt.I64), 50_000))})
		}), "50000"},
		{"many globals", with(func(m *wt.Module) {
			for range 10_000 {
				m.Globals = append(m.Globals, wt.Global{Type: wt.I64, Mutable: true})
			}
		}), "Globals"},
		{"global that a snapshot cannot hold", with(func(m *wt.Module) { m.Globals = append(m.Globals, wt.Global{Type: wt.V128, Mutable: true}) }), "v128"},
		{"65536 pages at the start", with(func(m *wt.Module) { m.Memory.Min = 65536 }), "65536"},
		{"table of 2^27", with(func(m *wt.Module) { m.Tables = []wt.Table{{Size: wt.Size{Min: 1 << 27}}} }), "134217728"},
		{"data out of bounds", with(func(m *wt.Module) { m.Data = []wt.Data{{Offset: 4<<16 - 1, Bytes: "xx"}} }), "ends at byte"},
		{"elements out of bounds", with(func(m *wt.Module) {
			m.Tables = []wt.Table{{Size: wt.Size{Min: 1}}}
			m.Elems = []wt.Elem{{Offset: 1, Funcs: []uint32{0}}}
		}), "ends at 2"},
		{"memory missing", with(func(m *wt.Module) { m.Memory = nil }), "memory"},
		{"memory imported", raw(wt.Section(2, "\x01"+wt.Name("merit_v1")+wt.Name("memory")+"\x02\x00\x01")), "brings its own state"},
		{"unknown import", with(func(m *wt.Module) {
			m.Imports = append(m.Imports, wt.Import{Module: "env", Name: "system"})
		}), "system"},
		{"import of another signature", with(func(m *wt.Module) {
			m.Imports = append(m.Imports, wt.Import{Module: "merit_v1", Name: "set_score"})
		}), "signature"},
		{"wrong signature", with(func(m *wt.Module) { m.Funcs[2].Params, m.Funcs[2].Body = wt.I32, scored }), "merit_evaluate is (i32) -> i32"},
		{"missing export", rename("merit_alloc", "alloc"), "merit_alloc"},
		{"misspelt mark", rename("merit_abi_1", "merit_abi1"), "merit_abi_1"},
		{"future mark", rename("merit_abi_1", "merit_abi_99"), "supports merit_abi_1"},
		{"two marks", export("merit_abi_2", wt.Nop), "several"},
		{"reserved name", export("__merit_fuel", wt.Nop), "reserved"},
		{"_initialize without end", export("_initialize", wt.Loop(wt.Br(0))), "fuel"},
		{"_initialize exits", export("_initialize", wt.I32Const(0)+wt.Call(procExit)), "exited"},
		{"start function without end", with(func(m *wt.Module) {
			m.Funcs = append(m.Funcs, wt.Func{Body: wt.Loop(wt.Br(0))})
			m.Start = uint32(firstOwn + len(m.Funcs))
		}), "fuel"},
		{"invalid body", guest{evaluate: wt.I64Const(0)}.wasm(), "not valid"},
	}
}
