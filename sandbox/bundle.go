package sandbox

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// Bundle is a reward as it was read from the disk: what LoadBundle runs is what
// Files holds, byte for byte, whatever becomes of the disk meanwhile.
type Bundle struct {
	// Reference is the one that it was read by, With with its keys sorted.
	Reference Reference
	// Digest is sha256:… of all that decides about results. A module's is that of
	// its bytes; a script's covers its files, what was chosen, and Runner.
	Digest string
	// Runner is sha256:… of what Merit brings to every script: the interpreters, and
	// files of its own. Another version of Merit may have another
	// one, and with it another Digest for the same files. Empty for a module.
	Runner string
	// Entry is the key of Files that is run; its extension is that of the
	// language.
	Entry string
	// Files are those that the digest covers, by slash-separated path. They must
	// not be changed.
	Files map[string][]byte

	source source.Source
}

// moduleEntry is the file name of a module in a bundle; a module's own does not
// decide about anything.
const moduleEntry = "reward.wasm"

// ReadBundle reads the reward that ref names, bounded by limits. The error is a
// *fault.Error.
func ReadBundle(ref Reference, limits Limits) (*Bundle, error) {
	s, err := ref.source(limits.sizes())
	if err != nil {
		return nil, err
	}
	if s.Script == nil {
		return &Bundle{Reference: ref, Digest: s.Digest, Entry: moduleEntry, Files: map[string][]byte{moduleEntry: s.Wasm}, source: s}, nil
	}
	ref.With = s.Script.With
	return &Bundle{Reference: ref, Digest: s.Digest, Runner: languages().Digest(), Entry: s.Script.Entry, Files: s.Script.Files, source: s}, nil
}

// DigestUnder is the Digest that b has where Runner is another one, and Digest
// for a module.
func (b *Bundle) DigestUnder(runner string) string {
	if !b.Script() {
		return b.Digest
	}
	return b.source.Script.DigestUnder(runner)
}

// Script reports whether it is run from its source.
func (b *Bundle) Script() bool { return b.source.Script != nil }

// LoadBundle loads b as LoadReference does the reference that it was read from.
func (r *Runtime) LoadBundle(ctx context.Context, b *Bundle) (*Module, error) {
	return r.load(ctx, b.source)
}

// NewBundle returns the script that text is, as if it were read from a file
// called name, whose extension says its language: for scripts that a program
// brings itself. The error is a *fault.Error.
func NewBundle(name string, text []byte) (*Bundle, error) {
	l := languages().With(filepath.Ext(name))
	if l == nil || filepath.Base(name) != name {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: name, What: "this is no file name of a script",
			Hint: "use a name without a folder that ends with .py or .js",
		}
	}
	s := &source.Script{Language: l, Name: strings.TrimSuffix(name, filepath.Ext(name)), Entry: name, Files: map[string][]byte{name: text}}
	b := &Bundle{Reference: Reference{Path: name}, Digest: s.Digest(languages()), Runner: languages().Digest(), Entry: name, Files: s.Files}
	b.source = source.Source{Name: s.Name, Digest: b.Digest, Script: s}
	return b, nil
}
