// Package wasmtest builds small WebAssembly modules for tests, valid ones and broken ones.
// Only tests import it.
//
// Code and types are strings of bytes, so that bodies are written with the plus sign:
//
//	wasmtest.Module{Funcs: []wasmtest.Func{{
//		Export: "inc", Params: wasmtest.I32, Results: wasmtest.I32,
//		Body: wasmtest.LocalGet(0) + wasmtest.I32Const(1) + wasmtest.I32Add,
//	}}}.Bytes()
package wasmtest

import "strings"

// Types is a list of value types, one byte each.
type Types string

// The value types of WebAssembly core 2.0.
const (
	I32       Types = "\x7f"
	I64       Types = "\x7e"
	F32       Types = "\x7d"
	F64       Types = "\x7c"
	V128      Types = "\x7b"
	FuncRef   Types = "\x70"
	ExternRef Types = "\x6f"
)

// Size is the size of a memory in pages or of a table in entries; a Max of zero means none is declared.
type Size struct{ Min, Max uint32 }

// Import is an imported function.
type Import struct {
	Module, Name    string
	Params, Results Types
}

// Func is a function. Body lacks the final end. An empty Export exports nothing, here and below.
type Func struct {
	Export                  string
	Params, Results, Locals Types
	Body                    Code
}

// Memory is the memory.
type Memory struct {
	Export string
	Size
}

// Table is a table of the given reference type; none means funcref.
type Table struct {
	Export string
	Type   Types
	Size
}

// Global is a global with its constant expression, without the final end; none means zero.
type Global struct {
	Export  string
	Type    Types
	Mutable bool
	Init    Code
}

// Elem is a segment of function indices for table 0 at Offset, or a passive one.
type Elem struct {
	Offset  int32
	Passive bool
	Funcs   []uint32
}

// Data is a segment at Offset, or a passive one.
type Data struct {
	Offset  int32
	Passive bool
	Bytes   string
}

// Custom is a custom section at the end of the module.
type Custom struct{ Name, Content string }

// Module is a module. Function indices count the imports first.
type Module struct {
	Imports []Import
	Funcs   []Func
	Tables  []Table
	Memory  *Memory
	Globals []Global
	// Start is the index of the start function plus one, so that zero means none.
	Start   uint32
	Elems   []Elem
	Data    []Data
	Customs []Custom
	// Types come before those of the functions and are not merged with them: for block types and call_indirect.
	Types []Func
}

// Header is the magic number and the version.
const Header = "\x00asm\x01\x00\x00\x00"

// Bytes encodes the module.
func (m Module) Bytes() []byte {
	t := &typeTable{index: map[string]int{}}
	for _, f := range m.Types {
		t.list = append(t.list, signature(f.Params, f.Results))
	}
	imports := each(m.Imports, func(i Import) string {
		return Name(i.Module) + Name(i.Name) + "\x00" + t.of(i.Params, i.Results)
	})
	funcs := each(m.Funcs, func(f Func) string { return t.of(f.Params, f.Results) })
	var b strings.Builder
	b.WriteString(Header)
	add := func(id byte, items []string) {
		if len(items) > 0 {
			b.WriteString(Section(id, Vec(items...)))
		}
	}
	add(1, t.list)
	add(2, imports)
	add(3, funcs)
	add(4, each(m.Tables, func(t Table) string { return string(or(t.Type, FuncRef)) + t.encode() }))
	if m.Memory != nil {
		add(5, []string{m.Memory.encode()})
	}
	add(6, each(m.Globals, Global.encode))
	add(7, m.exports())
	if m.Start > 0 {
		b.WriteString(Section(8, U32(m.Start-1)))
	}
	add(9, each(m.Elems, Elem.encode))
	if len(m.Data) > 0 {
		b.WriteString(Section(12, U32(uint32(len(m.Data)))))
	}
	add(10, each(m.Funcs, Func.encode))
	add(11, each(m.Data, Data.encode))
	for _, c := range m.Customs {
		b.WriteString(Section(0, Name(c.Name)+c.Content))
	}
	return []byte(b.String())
}

func (m Module) exports() []string {
	var list []string
	export := func(name string, kind byte, index int) {
		if name != "" {
			list = append(list, Name(name)+string([]byte{kind})+U32(uint32(index)))
		}
	}
	for i, f := range m.Funcs {
		export(f.Export, 0, len(m.Imports)+i)
	}
	for i, t := range m.Tables {
		export(t.Export, 1, i)
	}
	if m.Memory != nil {
		export(m.Memory.Export, 2, 0)
	}
	for i, g := range m.Globals {
		export(g.Export, 3, i)
	}
	return list
}
