package fuel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
	. "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// one is a module of one exported function.
func one(body Code) Module {
	return Module{
		Memory: &Memory{Export: "memory", Size: Size{Min: 1}},
		Funcs:  []Func{{Export: "f", Params: I32, Results: I32, Body: body}},
	}
}

// raw is a module of sections written by hand.
func raw(sections ...string) []byte { return []byte(Header + strings.Join(sections, "")) }

const (
	typeSection     = "\x01\x04\x01\x60\x00\x00" // () -> ()
	functionSection = "\x03\x02\x01\x00"
	codeSection     = "\x0a\x04\x01\x02\x00\x0b"
)

func problems(t *testing.T, wasm []byte, limits fuel.Limits) []fuel.Problem {
	info, err := fuel.Inspect(wasm, limits)
	require.Nil(t, info)
	var refused *fuel.Refused
	require.ErrorAs(t, err, &refused)
	require.NotEmpty(t, refused.Problems)
	_, err = fuel.Instrument(wasm, fuel.Options{Limits: limits})
	require.Equal(t, refused, err, "the meter refuses what the gate refuses")
	return refused.Problems
}

// The gate refuses every dangerous module and says what, where and which limit to raise.
func TestGateRefuses(t *testing.T) {
	id := LocalGet(0)
	whole := one(id).Bytes()
	for _, c := range []struct {
		name   string
		wasm   []byte
		limits fuel.Limits
		want   fuel.Problem // Message is a part of it; an Offset of -1 is not compared
	}{
		{"empty", nil, fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Func: -1, Message: "not a WebAssembly module"}},
		{"text", []byte("(module)"), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Func: -1, Message: "not a WebAssembly module"}},
		{"header only half", []byte("\x00asm\x01"), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 5, Func: -1, Message: "unexpected end"}},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 4, Func: -1, Message: "component"}},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 4, Func: -1, Message: "version"}},
		{"truncated", whole[:len(whole)-1], fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Func: -1, Message: "code section declares"}},
		{"overlong LEB", raw("\x01\x80\x80\x80\x80\x80\x00"), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 9, Func: -1, Message: "overlong"}},
		{"LEB above 32 bits", raw("\x01\xff\xff\xff\xff\x1f"), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 9, Func: -1, Message: "overlong"}},
		{"overlong constant", one("\x41\x80\x80\x80\x80\x80\x00").Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Message: "overlong"}},
		{"too large", make([]byte, 100), fuel.Limits{Bytes: 99}, fuel.Problem{Kind: fuel.OverLimit, Func: -1, Message: "100, at most 99", Limit: "Bytes"}},
		{"sections out of order", raw(functionSection, typeSection), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 12, Func: -1, Message: "out of order"}},
		{"section repeated", raw(typeSection, typeSection), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 14, Func: -1, Message: "repeated"}},
		{"tag section", raw(Section(13, "\x00")), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 8, Func: -1, Message: "exception"}},
		{"section declares 1 GB", raw("\x00" + U32(1<<30)), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 8, Func: -1, Message: "declares 1073741824 bytes"}},
		{"section too long", raw(Section(1, "\x00\x00")), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 11, Func: -1, Message: "left over"}},
		{"2^27 functions", raw(typeSection, Section(3, U32(1<<27))), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 16, Func: -1, Message: "134217728 items declared, 0 bytes left"}},
		{"functions without bodies", raw(typeSection, functionSection), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 18, Func: -1, Message: "1 functions declared, 0 bodies"}},
		{"bodies without functions", raw(typeSection, codeSection), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: 20, Func: -1, Message: "0 functions declared, 1 bodies"}},
		{"too many functions", Module{Funcs: make([]Func, 11)}.Bytes(), fuel.Limits{Functions: 10}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Message: "11, at most 10", Limit: "Functions"}},
		{"too many types", Module{Types: make([]Func, 11)}.Bytes(), fuel.Limits{Types: 10}, fuel.Problem{Kind: fuel.OverLimit, Offset: 10, Func: -1, Message: "types: 11", Limit: "Types"}},
		{"too many imports", Module{Imports: make([]Import, 11)}.Bytes(), fuel.Limits{Imports: 10}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "Imports"}},
		{"too many parameters", Module{Types: []Func{{Params: Types(strings.Repeat(string(I32), 1001))}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Message: "parameters: 1001", Limit: "Arity"}},
		{"too many results", Module{Types: []Func{{Results: Types(strings.Repeat(string(I32), 1001))}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Message: "results: 1001", Limit: "Arity"}},
		{"too many globals", Module{Globals: []Global{{Type: I32}, {Type: I32}}}.Bytes(), fuel.Limits{Globals: 1}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "Globals"}},
		{"too many tables", Module{Tables: make([]Table, 17)}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "Tables"}},
		{"too many exports", Module{Funcs: []Func{{Export: "a"}, {Export: "b"}}}.Bytes(), fuel.Limits{Exports: 1}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "Exports"}},
		{"too many segments", Module{Memory: &Memory{}, Data: make([]Data, 2)}.Bytes(), fuel.Limits{Segments: 1}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "Segments"}},
		{"too many elements", Module{Funcs: []Func{{}}, Elems: []Elem{{Passive: true, Funcs: make([]uint32, 7)}, {Passive: true, Funcs: make([]uint32, 4)}}}.Bytes(), fuel.Limits{Elements: 10}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Message: "4, at most 3", Limit: "Elements"}},
		{"too much code", Module{Funcs: []Func{{Body: Nop}, {Body: Nop}}}.Bytes(), fuel.Limits{CodeBytes: 5}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Message: "6, at most 5", Limit: "CodeBytes"}},
		{"10 k locals in each of 10 k functions", localsBomb(10_000), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "TotalComplexity"}},
		{"table of 2^27", Module{Tables: []Table{{Size: Size{Min: 1 << 27}}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: 11, Func: -1, Message: "134217728, at most 10000", Limit: "TableEntries"}},
		{"memory of 65536 pages", Module{Memory: &Memory{Size: Size{Min: 65536}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: 11, Func: -1, Message: "65536, at most 1024", Limit: "MemoryPages"}},
		{"memory of 65537 pages", Module{Memory: &Memory{Size: Size{Min: 65537}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: 11, Func: -1, Message: "more than 65536"}},
		{"memory may reach 65537 pages", Module{Memory: &Memory{Size: Size{Max: 65537}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: 11, Func: -1, Message: "more than 65536"}},
		{"memory minimum above maximum", Module{Memory: &Memory{Size: Size{Min: 2, Max: 1}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: 11, Func: -1, Message: "minimum 2 above maximum 1"}},
		{"two memories", raw(Section(5, "\x02\x00\x01\x00\x01")), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 13, Func: -1, Message: "second memory"}},
		{"memory64", raw(Section(5, "\x01\x04\x01")), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 11, Func: -1, Message: "64-bit"}},
		{"shared memory", raw(Section(5, "\x01\x03\x01\x01")), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 11, Func: -1, Message: "threads"}},
		{"unknown import", Module{Imports: []Import{{Module: "env", Name: "system"}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.BadImport, Offset: 17, Func: -1, Message: `func "env"."system"`}},
		{"import of memory", raw(Section(2, "\x01"+Name("merit_v1")+Name("memory")+"\x02\x00\x01")), fuel.Limits{}, fuel.Problem{Kind: fuel.BadImport, Offset: 11, Func: -1, Message: "brings its own state"}},
		{"import of a table", raw(Section(2, "\x01"+Name("env")+Name("t")+"\x01\x70\x00\x01")), fuel.Limits{}, fuel.Problem{Kind: fuel.BadImport, Offset: 11, Func: -1, Message: "brings its own state"}},
		{"import of a global", raw(Section(2, "\x01"+Name("env")+Name("g")+"\x03\x7f\x01")), fuel.Limits{}, fuel.Problem{Kind: fuel.BadImport, Offset: 11, Func: -1, Message: "brings its own state"}},
		{"import of a tag", raw(Section(2, "\x01"+Name("env")+Name("t")+"\x04\x00\x00")), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 11, Func: -1, Message: "kind 0x04"}},
		{"import name not UTF-8", Module{Imports: []Import{{Module: "env", Name: "\xff"}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Func: -1, Message: "UTF-8"}},
		{"reserved name", Module{Globals: []Global{{Export: fuel.FuelGlobal, Type: I64, Mutable: true}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Reserved, Offset: -1, Func: -1, Message: "__merit_"}},
		{"export twice", Module{Funcs: []Func{{Export: "a"}, {Export: "a"}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "repeated"}},
		{"export of what only the meter adds", raw(Section(7, "\x01"+Name("g")+"\x03\x00")), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "global 0 does not exist"}},
		{"mutable v128", Module{Globals: []Global{{Type: V128, Mutable: true}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: 11, Func: -1, Message: "v128"}},
		{"global of the fuel global", Module{Globals: []Global{{Type: I64, Init: GlobalGet(1)}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "imported global 1"}},
		{"extended constant", Module{Globals: []Global{{Type: I32, Init: I32Const(1) + I32Const(1) + I32Add}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Func: -1, Message: "constant expression"}},
		{"start of what does not exist", Module{Start: 1}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: 10, Func: -1, Message: "func 0 does not exist"}},
		{"start with a parameter", Module{Start: 1, Funcs: []Func{{Params: I32}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "(i32) -> ()"}},
		{"data out of bounds", Module{Memory: &Memory{Size: Size{Min: 1}}, Data: []Data{{Offset: 65536, Bytes: "x"}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "ends at byte 65537"}},
		{"data at a negative offset", Module{Memory: &Memory{Size: Size{Min: 1}}, Data: []Data{{Offset: -1, Bytes: "x"}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "ends at byte 4294967296"}},
		{"elements out of bounds", Module{Tables: []Table{{Size: Size{Min: 1}}}, Funcs: []Func{{}}, Elems: []Elem{{Offset: 1, Funcs: []uint32{0}}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "ends at 2"}},
		{"data without memory", Module{Data: []Data{{Bytes: "x"}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Func: -1, Message: "memory 0 does not exist"}},
		{"custom section too large", Module{Customs: []Custom{{Name: "x", Content: strings.Repeat("y", 101)}}}.Bytes(), fuel.Limits{CustomBytes: 100}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "CustomBytes"}},
		{"too many custom sections", Module{Customs: make([]Custom, 1001)}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Func: -1, Limit: "CustomSections"}},
		{"2^32 names", Module{Customs: []Custom{{Name: "name", Content: Section(1, U32(1<<32-1))}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Func: -1, Message: "4294967295 items declared"}},
		{"tail call", one(id + "\x12\x00").Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Message: "tail calls"}},
		{"try", one("\x06\x40" + End + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Message: "exception handling"}},
		{"atomics", one("\xfe\x03\x00" + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Message: "threads"}},
		{"relaxed SIMD", one("\xfd\x80\x02" + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Message: "relaxed SIMD"}},
		{"garbage collection", one("\xfb\x00" + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Message: "garbage collection"}},
		{"access to memory 1", one(id + "\x28\x40\x01\x00").Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Message: "multiple memories"}},
		{"unknown opcode", one("\xff").Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Message: "unknown opcode 0xff"}},
		{"unknown type", raw(Section(1, "\x01\x60\x01\x64\x00")), fuel.Limits{}, fuel.Problem{Kind: fuel.Unsupported, Offset: -1, Func: -1, Message: "not a value type"}},
		{"the meter's global", one(GlobalGet(0) + Drop + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "global 0 does not exist"}},
		{"the meter's local", one(LocalGet(1)).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "local 1 does not exist"}},
		{"the meter's block type", one("\x02\x01" + End + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "type 1 does not exist"}},
		{"the meter's label", one(Br(1)).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "label 1 does not exist"}},
		{"unknown function", one(Call(1)).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "func 1 does not exist"}},
		{"undeclared reference", Module{Funcs: []Func{{Body: RefFunc(0) + Drop}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "undeclared"}},
		{"reference to the start function", Module{Start: 1, Funcs: []Func{{Body: RefFunc(0) + Drop}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "undeclared"}},
		{"unknown table", one(id + CallIndirect(0, 0)).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "table 0 does not exist"}},
		{"unknown segment", one(DataDrop(0) + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Invalid, Offset: -1, Message: "data segment 0 does not exist"}},
		{"body ends in a block", one("\x02\x40" + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Message: "ends inside a block"}},
		{"code after the body", one(id + End + Nop).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Message: "after the end of the body"}},
		{"else without if", one(Else + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.Malformed, Offset: -1, Message: "else without if"}},
		{"2^32 locals", raw(typeSection, functionSection, Section(10, Vec(Name("\x01\xff\xff\xff\xff\x0f\x7f\x0b")))), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Message: "4294967295, at most 10000", Limit: "Locals"}},
		{"50 k locals", Module{Funcs: []Func{{Locals: Types(strings.Repeat(string(I64), 50_000))}}}.Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Message: "50000", Limit: "Locals"}},
		{"large function", one(Repeat(1<<20, Nop) + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Limit: "FunctionBytes"}},
		{"5 k nested blocks", one(Repeat(5000, "\x02\x40") + Repeat(5000, End) + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Message: "nested", Limit: "Nesting"}},
		{"br_table of 200 k", one(Block(id + BrTable(make([]uint32, 200_000)...))).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Message: "br_table: 200000", Limit: "BranchTargets"}},
		{"SSA bomb", bomb(4000, 4000), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Limit: "Complexity"}},
		{"SSA bomb without locals", one(Repeat(10_000, LocalGet(0)+If(Unreachable)) + id).Bytes(), fuel.Limits{}, fuel.Problem{Kind: fuel.OverLimit, Offset: -1, Limit: "Complexity"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := problems(t, c.wasm, c.limits)
			got := found[0]
			require.Equal(t, c.want.Kind, got.Kind, got)
			require.Contains(t, got.Message, c.want.Message)
			require.Equal(t, c.want.Limit, got.Limit)
			require.Equal(t, c.want.Func, got.Func)
			if c.want.Offset >= 0 {
				require.Equal(t, c.want.Offset, got.Offset)
			}
			require.LessOrEqual(t, len(found), 2, "one cause, no noise: %v", found)
		})
	}
}

// localsBomb makes a decoder that expands declarations take a hundred megabytes for a hundred kilobytes.
func localsBomb(functions int) []byte {
	body := Name("\x01" + U32(10_000) + string(I32+Types(End)))
	return raw(typeSection, Section(3, U32(uint32(functions))+strings.Repeat("\x00", functions)),
		Section(10, U32(uint32(functions))+strings.Repeat(body, functions)))
}

// bomb makes an SSA compiler merge every local at every branch.
func bomb(locals, branches int) []byte {
	var body strings.Builder
	for i := range branches {
		body.WriteString(string(LocalGet(0) + If(LocalGet(uint32(1+i*7%locals))+LocalSet(uint32(1+i*13%locals)))))
	}
	return Module{Funcs: []Func{{Params: I32, Locals: Types(strings.Repeat(string(I32), locals)), Body: Code(body.String())}}}.Bytes()
}

// All problems are reported at once, in order, each with the function it is in.
func TestGateReportsEverythingAtOnce(t *testing.T) {
	m := Module{
		Imports: []Import{{Module: "env", Name: "system"}, {Module: "wasi_snapshot_preview1", Name: "fd_write"}},
		Tables:  []Table{{Size: Size{Min: 1 << 20}}},
		Memory:  &Memory{Size: Size{Min: 2000}},
		Funcs:   []Func{{Export: "__merit_depth", Body: GlobalGet(9) + Drop}, {Body: "\x12\x00"}, {Body: LocalGet(3) + Drop}},
	}
	found := problems(t, m.Bytes(), fuel.Limits{})
	var kinds []fuel.Kind
	var functions []int
	for _, p := range found {
		kinds, functions = append(kinds, p.Kind), append(functions, p.Func)
	}
	require.Equal(t, []fuel.Kind{
		fuel.BadImport, fuel.OverLimit, fuel.OverLimit, fuel.Reserved, fuel.Invalid, fuel.Unsupported, fuel.Invalid,
	}, kinds)
	require.Equal(t, []int{-1, -1, -1, -1, 2, 3, 4}, functions)
	require.True(t, strings.Contains(found[1].String(), "limit TableEntries"), found[1].String())
}

// A module of nothing but problems gets a capped report.
func TestGateCapsTheReport(t *testing.T) {
	_, err := fuel.Inspect(one(Repeat(1000, Call(7))+LocalGet(0)).Bytes(), fuel.Limits{})
	var refused *fuel.Refused
	require.True(t, errors.As(err, &refused))
	require.Len(t, refused.Problems, 20)
	require.Equal(t, 980, refused.More)
	require.Contains(t, err.Error(), "and 980 more")
}

// Truncation and bit flips anywhere are refused or harmless, never a panic, and the report stays small.
func TestGateSurvivesDamage(t *testing.T) {
	whole := one(LocalGet(0) + If(LocalGet(0)+Call(0)+Drop) + I32Const(7)).Bytes()
	accepted := 0
	for n := range whole {
		if _, err := fuel.Inspect(whole[:n], fuel.Limits{}); err == nil {
			accepted++
		}
	}
	require.Equal(t, 2, accepted, "the header alone and the header with its types are modules")
	for i := range whole {
		for bit := range 8 {
			damaged := []byte(string(whole))
			damaged[i] ^= 1 << bit
			if m, err := fuel.Instrument(damaged, fuel.Options{}); err == nil {
				require.NotEmpty(t, m.Wasm)
			}
		}
	}
}

// What the gate reports of a module is what the module holds.
func TestInspectDescribes(t *testing.T) {
	m := Module{
		Imports: []Import{{Module: "merit_v1", Name: "set_score", Params: F64}},
		Memory:  &Memory{Export: "memory", Size: Size{Min: 1, Max: 9}},
		Tables:  []Table{{Size: Size{Min: 2}}},
		Globals: []Global{{Type: I64, Mutable: true}, {Type: FuncRef, Mutable: true}},
		Data:    []Data{{Bytes: "abc"}},
		Start:   3,
		Funcs: []Func{
			{Export: "f", Params: I32 + I64, Results: F64, Body: I32Const(1) + MemoryGrow + Drop + F64Const(1)},
			{Body: I32Const(0) + RefNull(FuncRef) + TableSet(0) + DataDrop(0)},
		},
		Customs: []Custom{{Name: ".debug_info", Content: "dwarf"}, {Name: "producers", Content: "us"}},
	}
	info, err := fuel.Inspect(m.Bytes(), fuel.Limits{})
	require.NoError(t, err)
	require.Equal(t, 2, info.Functions)
	require.Equal(t, 2, info.Start)
	require.Equal(t, "merit_v1", info.Imports[0].Module)
	require.Equal(t, "(f64) -> ()", info.Imports[0].Func.String())
	f, ok := info.Export("f")
	require.True(t, ok)
	require.Equal(t, "(i32, i64) -> f64", f.Func.String())
	require.Equal(t, fuel.Range{Min: 1, Max: 9, HasMax: true}, info.Memory.Range)
	require.Equal(t, fuel.Sites{TableWrites: 1, SegmentDrops: 1, MemoryGrows: 1}, info.Sites)
	require.Len(t, info.SnapshotBlockers(), 3)
	require.Equal(t, 3, info.DataBytes)
	require.True(t, info.Custom[0].Dropped)
	require.Equal(t, []byte("us"), info.Custom[1].Content)
}
