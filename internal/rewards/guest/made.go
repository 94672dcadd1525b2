package guest

import (
	"bytes"
	"slices"

	"github.com/merit-rl/merit/sandbox"
)

// traces are the marks of compilers in a module: in the custom sections producers and name, or
// exports and imports that no other compiler creates. Stripped modules from clang have no
// marks.
var traces = []struct{ language, section, text, export, imported string }{
	{language: "go", section: "producers", text: "Go cmd/compile"},
	{language: "go", section: "go:buildid"},
	{language: "rust", section: "producers", text: "rustc"},
	{language: "rust", section: "name", text: "rust_"},
	{language: "assemblyscript", section: "name", text: "~lib/"},
	{language: "assemblyscript", section: "sourceMappingURL", text: ".wasm.map"},
	{language: "cpp", section: "producers", text: "C_plus_plus"},
	{language: "cpp", section: "name", text: "_Z"},
	{language: "c", section: "producers", text: "clang"},
	{language: "rust", export: "__heap_base"},
	{language: "assemblyscript", export: "__pin"},
	{language: "assemblyscript", imported: "env.abort"},
}

// Made returns the language of a module, if it can be determined.
func Made(x *sandbox.Inspection) (Language, bool) {
	for _, t := range traces {
		if !found(x, t.section, t.text, t.export, t.imported) {
			continue
		}
		for _, l := range Languages() {
			if l.Name == t.language {
				return l, true
			}
		}
	}
	return Language{}, false
}

func found(x *sandbox.Inspection, section, text, export, imported string) bool {
	named := func(name string) func(sandbox.Extern) bool {
		return func(e sandbox.Extern) bool { return e.Name == name }
	}
	switch {
	case section != "":
		return slices.ContainsFunc(x.Sections, func(s sandbox.Section) bool {
			return s.Name == section && bytes.Contains(s.Content, []byte(text))
		})
	case export != "":
		return slices.ContainsFunc(x.Exports, named(export))
	}
	return slices.ContainsFunc(x.Imports, named(imported))
}
