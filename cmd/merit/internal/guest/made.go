package guest

import (
	"bytes"

	"github.com/merit-rl/merit/sandbox/fuel"
)

// traces are what compilers leave in a module: in the custom sections producers
// and name, or as exports and imports that nobody else makes. Stripped modules
// of clang say nothing.
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

// Made finds out which language a module was written in, if it shows.
func Made(info *fuel.Info) (Language, bool) {
	for _, t := range traces {
		if !found(info, t.section, t.text, t.export, t.imported) {
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

func found(info *fuel.Info, section, text, export, imported string) bool {
	switch {
	case section != "":
		for _, c := range info.Custom {
			if c.Name == section && bytes.Contains(c.Content, []byte(text)) {
				return true
			}
		}
	case export != "":
		_, ok := info.Export(export)
		return ok
	default:
		for _, i := range info.Imports {
			if i.Module+"."+i.Name == imported {
				return true
			}
		}
	}
	return false
}
