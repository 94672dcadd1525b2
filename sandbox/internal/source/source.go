// Package source reads rewards from disk, each once: the bytes of a module, or a
// script with its files and the language that runs it.
package source

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// Source is a reward to load: a module, or a script.
type Source struct {
	Name   string // used if the manifest has no name
	Digest string // sha256:… of everything that determines results
	Wasm   []byte
	Script *Script // nil for a module
	Asks   bool    // a configuration grants it a language model
}

// Module returns a module in memory as a Source.
func Module(name string, wasm []byte) Source {
	return Source{Name: name, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(wasm)), Wasm: wasm}
}

// Sizes are the limits of the files, in bytes.
type Sizes struct{ Module, Script int64 }

// File reads the reward at path: a module, a script in one of the languages, or
// a folder with a script called reward. Choices are for scripts only.
func File(path string, choice Choice, languages Languages, most Sizes) (Source, error) {
	err := choice.check(path)
	if err != nil {
		return Source{}, err
	}
	if choice.With, err = canonical(path, choice.With); err != nil {
		return Source{}, err
	}
	if l := languages.Of(path); l != nil {
		s, err := readScript(l, path, most.Script)
		if err != nil {
			return Source{}, err
		}
		s.Choice = choice
		return Source{Name: s.Name, Digest: s.Digest(languages), Script: s}, nil
	}
	if err := choice.ofModule(path); err != nil {
		return Source{}, err
	}
	return ModuleFile(path, most)
}

// ModuleFile reads the module at path.
func ModuleFile(path string, most Sizes) (Source, error) {
	wasm, err := readModule(path, most.Module)
	if err != nil {
		return Source{}, err
	}
	name := filepath.Base(path)
	return Module(strings.TrimSuffix(name, filepath.Ext(name)), wasm), nil
}

func readModule(path string, most int64) (wasm []byte, err error) {
	f, err := os.Open(path)
	if err == nil {
		wasm, err = readFile(f, most)
		_ = f.Close() // it was only read
	}
	kind := fault.Invalid
	switch {
	case err == nil:
		return wasm, nil
	case errors.Is(err, errTooLarge):
		return nil, Refusal(path, fmt.Sprintf("it has more than %d bytes", most), "raise sandbox.module_mib if you trust it", nil)
	case errors.Is(err, os.ErrNotExist):
		kind = fault.Missing
	}
	return nil, &fault.Error{
		Boundary: fault.Sandbox, Kind: kind, Where: path, What: "the module cannot be read", Err: err,
		Hint: "check the path",
	}
}

// Refusal returns the error of a reward that must not run.
func Refusal(name, what, hint string, err error) error {
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: text.Escape(name), What: text.Escape(what), Hint: hint, Err: err}
}
