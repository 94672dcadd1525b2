package source

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Language is how the scripts of one language are run.
type Language interface {
	// Extension is that of the script's file; a folder has a file reward with
	// this extension.
	Extension() string
	// Interpreter is the pinned build that runs its scripts.
	Interpreter() interpreter.Interpreter
	// Imports lists what the interpreter imports and a reward has no use for.
	Imports() []engine.Import
	// Brings gives what of Merit's own runs with every script, by name.
	Brings() map[string][]byte
	// Open says how s is spoken to, and what its interpreter finds around it.
	Open(s *Script) (profile.Profile, engine.Process)
	// Nested says the same of programs that rewards open beside themselves.
	Nested() (profile.Nested, engine.Process)
}

// Languages are the languages of a runtime.
type Languages []Language

// Of returns the language that path is written in, or nil if it is no script.
func (list Languages) Of(path string) Language {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, l := range list {
		if !info.IsDir() {
			if filepath.Ext(path) == l.Extension() {
				return l
			}
			continue
		}
		if entry, err := os.Stat(filepath.Join(path, "reward"+l.Extension())); err == nil && entry.Mode().IsRegular() {
			return l
		}
	}
	return nil
}

// Name is how rewards call the language when they open a program.
func Name(l Language) string { return strings.ToLower(l.Interpreter().Language) }

// Named returns the language of that name, or nil.
func (list Languages) Named(name string) Language {
	for _, l := range list {
		if Name(l) == name {
			return l
		}
	}
	return nil
}

// With returns the language with an extension, or nil.
func (list Languages) With(extension string) Language {
	for _, l := range list {
		if l.Extension() == extension {
			return l
		}
	}
	return nil
}

// Imports lists the imports of all interpreters.
func (list Languages) Imports() (all []engine.Import) {
	for _, l := range list {
		all = append(all, l.Imports()...)
	}
	return all
}
