package fuel

import (
	"fmt"
	"strings"
)

// ValueType is the binary code of a WebAssembly value type.
type ValueType byte

// The value types of core 2.0.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

// String returns the name in the text format.
func (v ValueType) String() string {
	switch v {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("type 0x%02x", byte(v))
}

func (v ValueType) known() bool { return v >= V128 && v <= I32 || v.isRef() }
func (v ValueType) isRef() bool { return v == FuncRef || v == ExternRef }

// FuncType is a function signature.
type FuncType struct{ Params, Results []ValueType }

// String renders the signature as "(i32, i32) -> i32".
func (t FuncType) String() string {
	list := func(v []ValueType) string {
		names := make([]string, len(v))
		for i := range v {
			names[i] = v[i].String()
		}
		return strings.Join(names, ", ")
	}
	results := list(t.Results)
	if len(t.Results) != 1 {
		results = "(" + results + ")"
	}
	return "(" + list(t.Params) + ") -> " + results
}

// Extern is the kind of an import or export.
type Extern byte

// The kinds of import and export.
const (
	FuncExtern Extern = iota
	TableExtern
	MemoryExtern
	GlobalExtern
)

// String returns the name in the text format.
func (e Extern) String() string {
	if e > GlobalExtern {
		return fmt.Sprintf("extern 0x%02x", byte(e))
	}
	return [...]string{"func", "table", "memory", "global"}[e]
}

// Import is one entry of the import section.
type Import struct {
	Module, Name string
	Kind         Extern
	// Func is the signature if Kind is FuncExtern.
	Func FuncType
}

// Export is one entry of the export section.
type Export struct {
	Name string
	Kind Extern
	// Index in the index space of its kind, imports counted.
	Index int
	// Func is the signature if Kind is FuncExtern.
	Func FuncType
}

// Range is the declared size of a memory (pages) or table (entries). Without HasMax there is no declared maximum.
type Range struct {
	Min, Max uint32
	HasMax   bool
}

// most returns the largest size under the given cap.
func (r Range) most(most int) uint32 {
	if r.HasMax {
		return min(r.Max, uint32(most))
	}
	return uint32(most)
}

// Table is a table, imported or defined.
type Table struct {
	Range
	Type     ValueType
	Imported bool
}

// Memory is the memory, imported or defined.
type Memory struct {
	Range
	Imported bool
}

// Global is a global, imported or defined.
type Global struct {
	Type     ValueType
	Mutable  bool
	Imported bool
}

// Custom is a custom section.
type Custom struct {
	Name string
	// Bytes of the content.
	Bytes int
	// Content is the payload, shared with the inspected bytes.
	Content []byte
	// Dropped sections are not part of the instrumented module.
	Dropped bool
}

// Sites counts instructions after which a snapshot of memory and globals is not the whole state.
type Sites struct {
	// TableWrites: table.set, grow, fill, copy, init. SegmentDrops: data.drop, elem.drop. MemoryGrows: memory.grow.
	TableWrites, SegmentDrops, MemoryGrows int
}

// Info describes a module that passed the gate.
type Info struct {
	// Bytes of the whole module, CodeBytes of its function bodies, DataBytes of its data segments.
	Bytes, CodeBytes, DataBytes int
	// Functions defined in the module, imports not counted; Types, Segments and the Elements in them as declared.
	Functions, Types, Segments, Elements int
	Imports                              []Import
	Exports                              []Export
	// Memory is nil if the module has none.
	Memory  *Memory
	Tables  []Table
	Globals []Global
	Custom  []Custom
	// Start is the index of the start function, or -1.
	Start int
	Sites Sites
	// LargestFunction in bytes, MostLocals (parameters included), DeepestNesting, MostTargets (of a br_table), MostComplex and
	// Complexity (of all functions) show where the module stands against the limits of the same meaning.
	LargestFunction, MostLocals, DeepestNesting, MostTargets, MostComplex, Complexity int
}

// Export returns the export of that name.
func (i *Info) Export(name string) (Export, bool) {
	for _, e := range i.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// SnapshotBlockers lists, in words, what a snapshot of memory and exported globals would miss; such a module needs a fresh instance
// for every evaluation. Empty means that a snapshot is the whole state as long as the memory has not grown.
func (i *Info) SnapshotBlockers() []string {
	var blockers []string
	if i.Sites.TableWrites > 0 {
		blockers = append(blockers, fmt.Sprintf("%d instruction(s) change tables", i.Sites.TableWrites))
	}
	if i.Sites.SegmentDrops > 0 {
		blockers = append(blockers, fmt.Sprintf("%d instruction(s) drop segments", i.Sites.SegmentDrops))
	}
	imported := i.Memory != nil && i.Memory.Imported
	for _, t := range i.Tables {
		imported = imported || t.Imported
	}
	for _, g := range i.Globals {
		imported = imported || g.Imported && g.Mutable
		if g.Mutable && (g.Type == V128 || g.Type.isRef()) {
			blockers = append(blockers, fmt.Sprintf("a mutable global holds a %s", g.Type))
		}
	}
	if imported {
		blockers = append(blockers, "memory, a table or a mutable global is imported")
	}
	return blockers
}
