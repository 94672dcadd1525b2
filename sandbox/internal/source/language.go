package source

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Language is a script language.
type Language interface {
	// Extension is the extension of the script's file. A folder of a script
	// contains a file reward with this extension.
	Extension() string
	// Interpreter is the pinned build that runs its scripts.
	Interpreter() interpreter.Interpreter
	// Preload reads what instances read from disk, for a process that soon cannot.
	Preload() error
	// Imports lists what only the interpreter imports, not a reward.
	Imports() []engine.Import
	// Brings returns Merit's own files that run with every script, by name.
	Brings() map[string][]byte
	// Open returns how to call s, and the process in which its interpreter runs.
	Open(s *Script) (profile.Profile, engine.Process)
	// Play returns the same for the environment in s.
	Play(s *Script) (Opener, engine.Process)
	// Nested returns the same for programs that rewards open.
	Nested() (profile.Nested, engine.Process)
}

// Preparer is a Language with programs that begin with more loaded than others need.
type Preparer interface {
	// Prepared returns the request that a program answers before it is opened, by what it loads.
	// Rewards open such programs by the name of the language, an underscore and this.
	Prepared() map[string][]byte
}

// Opener prepares an instance on which no code has run to play an environment.
type Opener func(*engine.Instance, profile.Streams) profile.Player

// Languages are the languages of a runtime.
type Languages []Language

// Of returns the language of the script at path, or nil if it is not a script.
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

// Name returns the name by which rewards open a program in the language.
func Name(l Language) string { return strings.ToLower(l.Interpreter().Language) }

// Named returns the language with that name, or nil.
func (list Languages) Named(name string) Language {
	for _, l := range list {
		if Name(l) == name {
			return l
		}
	}
	return nil
}

// With returns the language with that extension, or nil.
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
