package sandbox

import (
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/profile"
)

// Inspection is what is known about a reward without running it. It is computed
// by the same code that decides at Load.
type Inspection struct {
	Path     string
	Name     string
	Digest   string // sha256:… of everything that determines results
	ABI      string // the calling convention, as in reward.Info; empty if none was found
	Powers   []string
	Manifest Manifest  // empty for a script, which must run to provide it
	Problems []Problem // why Load rejects it; empty if no problem was found
	Refused  bool      // whether the gate rejected it; other fields are then empty

	// The following fields are set for modules that passed the gate.

	Exports, Imports []Extern
	Sections         []Section // custom sections
	Blockers         []string  // why every evaluation needs a new instance
	Sizes            Sizes
}

// Problem is one reason to reject a module.
type Problem struct {
	What   string
	Hint   string
	Export string // the export that is missing or wrong, or empty
}

// Extern is an import or an export. The name of an import begins with its
// module: merit_v1.step.
type Extern struct {
	Name string
	Type string // (i32) -> f64, memory, table, global
}

// Section is a custom section.
type Section struct {
	Name    string
	Bytes   int
	Content []byte // nil if the section is not kept
}

// Sizes are the sizes of a module.
type Sizes struct {
	Bytes, CodeBytes, DataBytes int
	Functions, LargestFunction  int // their number, and bytes of the largest
	MostLocals                  int
	MemoryPages, MaxMemoryPages int // pages of 64 KiB; 0 = no maximum
}

// Inspect examines the reward in a file or folder without running it. It
// returns an error if the reward cannot be read; Problems lists what is wrong
// with it.
func Inspect(path string, limits Limits) (*Inspection, error) {
	ref, err := ParseReference(path)
	if err != nil {
		return nil, err
	}
	s, err := ref.source(limits.sizes(), languages(""))
	if err != nil {
		return nil, err
	}
	cfg := DefaultConfig()
	cfg.Limits, cfg.Workers = limits, 1
	b, err := local.New(cfg.options(), cfg.languages())
	if err != nil {
		return nil, err
	}
	defer b.Close()
	found := b.Inspect(s)
	x := &Inspection{Path: path, Name: found.Info.Name, Digest: found.Info.Digest, ABI: found.Info.ABI, Manifest: found.Manifest, Powers: []string{}}
	x.judge(s.Wasm, found)
	if found.Gate != nil {
		x.measure(found.Gate)
	}
	return x, nil
}

// judge lists why the gate rejected the module, or why it is not a reward.
func (x *Inspection) judge(wasm []byte, found local.Inspection) {
	if found.Refused != nil {
		x.Refused = true
		for _, p := range found.Refused.Problems {
			x.Problems = append(x.Problems, Problem{What: p.String(), Hint: gateHint(wasm, p)})
		}
		if found.Refused.More > 0 {
			x.Problems = append(x.Problems, Problem{What: fmt.Sprintf("and %d more", found.Refused.More)})
		}
	}
	for _, p := range found.Problems {
		hint := "build it with the SDK of this version of Merit"
		if p.Export != "" {
			hint = local.ExportHint
		}
		x.Problems = append(x.Problems, Problem{What: p.What, Hint: hint, Export: p.Export})
	}
}

// settings maps the limits of the gate that can be set to their keys.
var settings = map[string]string{"Bytes": "sandbox.module_mib", "MemoryPages": "sandbox.memory_mib", "TableEntries": "sandbox.table_entries"}

// gateHint returns the hint for a problem that the gate found.
func gateHint(wasm []byte, p fuel.Problem) string {
	switch {
	case settings[p.Limit] != "":
		return "make it smaller, or raise " + settings[p.Limit] + " if you trust it"
	case p.Limit != "":
		return "make it smaller: this limit protects the compiler and cannot be raised"
	case local.NotCore(wasm) != "":
		return local.NotCore(wasm)
	case p.Kind == fuel.Malformed:
		return "build it again: the file may be damaged or truncated"
	case p.Kind == fuel.BadImport:
		return "remove the import: a reward may import only merit_v1 and WASI"
	}
	return "build the module again for WebAssembly 2.0 without extensions"
}

func (x *Inspection) measure(info *fuel.Info) {
	x.Powers, x.Blockers = profile.Powers(info), info.SnapshotBlockers()
	for _, e := range info.Exports {
		x.Exports = append(x.Exports, extern(e.Name, e.Kind, e.Func))
	}
	for _, i := range info.Imports {
		x.Imports = append(x.Imports, extern(i.Module+"."+i.Name, i.Kind, i.Func))
	}
	for _, c := range info.Custom {
		x.Sections = append(x.Sections, Section{c.Name, c.Bytes, c.Content})
	}
	x.Sizes = Sizes{
		Bytes: info.Bytes, CodeBytes: info.CodeBytes, DataBytes: info.DataBytes,
		Functions: info.Functions, LargestFunction: info.LargestFunction, MostLocals: info.MostLocals,
	}
	if m := info.Memory; m != nil {
		x.Sizes.MemoryPages = int(m.Min)
		if m.HasMax {
			x.Sizes.MaxMemoryPages = int(m.Max)
		}
	}
}

func extern(name string, kind fuel.Extern, f fuel.FuncType) Extern {
	if kind == fuel.FuncExtern {
		return Extern{name, f.String()}
	}
	return Extern{name, kind.String()}
}

// Err joins all problems as *fault.Errors. It returns nil if there are none.
func (x *Inspection) Err() error {
	var all []error
	for _, p := range x.Problems {
		all = append(all, &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: x.Path, What: p.What, Hint: p.Hint})
	}
	return errors.Join(all...)
}
