package sandbox

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// Bundle is a reward as it was read from disk. LoadBundle runs exactly the
// bytes in Files, even if the files on disk change.
type Bundle struct {
	// Reference is the reference of the reward; the keys of its With are
	// sorted.
	Reference Reference
	// Digest is sha256:… of everything that determines results. For a module,
	// that is its bytes; for a script, its files, the choices of Reference, and
	// Runner.
	Digest string
	// Runner is sha256:… of what Merit adds to every script: the interpreters
	// and its own files. It may differ between versions of Merit, and with it
	// the Digest of the same files. It is empty for a module.
	Runner string
	// Entry is the key in Files of the file to run; its extension determines
	// the language.
	Entry string
	// Files are the files that the digest covers, by slash-separated path. Do
	// not change them.
	Files map[string][]byte

	source source.Source
}

// moduleEntry is the file name of a module in a bundle. The module's own name
// has no effect on results.
const moduleEntry = "reward.wasm"

// ReadBundle reads the reward that ref names, within limits. The error is a
// *fault.Error.
func ReadBundle(ref Reference, limits Limits) (*Bundle, error) {
	s, err := ref.source(limits.sizes(), languages(""))
	if err != nil {
		return nil, err
	}
	if s.Script == nil {
		return &Bundle{Reference: ref, Digest: s.Digest, Entry: moduleEntry, Files: map[string][]byte{moduleEntry: s.Wasm}, source: s}, nil
	}
	ref.With = s.Script.With
	return &Bundle{Reference: ref, Digest: s.Digest, Runner: languages("").Digest(), Entry: s.Script.Entry, Files: s.Script.Files, source: s}, nil
}

// DigestUnder returns the Digest that b has with another Runner. For a module,
// it returns Digest.
func (b *Bundle) DigestUnder(runner string) string {
	if !b.Script() {
		return b.Digest
	}
	return b.source.Script.DigestUnder(runner)
}

// Script reports whether the reward runs from source.
func (b *Bundle) Script() bool { return b.source.Script != nil }

// LoadBundle loads b, as LoadReference loads its reference.
func (r *Runtime) LoadBundle(ctx context.Context, b *Bundle) (*Module, error) {
	return r.load(ctx, b.source)
}

// NewBundle returns text as a script, as if it were read from a file called
// name. The extension of name determines the language. It is for scripts that a
// program contains. The error is a *fault.Error.
func NewBundle(name string, text []byte) (*Bundle, error) {
	l := languages("").With(filepath.Ext(name))
	if l == nil || filepath.Base(name) != name {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: name, What: "this is not the file name of a script",
			Hint: "use a name without a folder that ends with .py or .js",
		}
	}
	s := &source.Script{Language: l, Name: strings.TrimSuffix(name, filepath.Ext(name)), Entry: name, Files: map[string][]byte{name: text}}
	b := &Bundle{Reference: Reference{Path: name}, Digest: s.Digest(languages("")), Runner: languages("").Digest(), Entry: name, Files: s.Files}
	b.source = source.Source{Name: s.Name, Digest: b.Digest, Script: s}
	return b, nil
}
