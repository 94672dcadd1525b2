// Package engine installs and runs the servers that stand behind a language
// model on one machine: SkyRL, which samples from a model and trains it over the
// Tinker API, and llama.cpp, which serves one over the OpenAI API. An engine is a
// Python environment of exactly the packages of a lock file, in a folder of its own.
package engine

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

//go:embed files/*.py files/*.lock files/stubs/*/*.py
var files embed.FS

// Engine is a server that Merit installs and runs.
type Engine struct {
	Name    string // as --engine takes it, and its folder is called
	Title   string
	License string
	Port    int    // where it serves unless told otherwise
	Tinker  bool   // it trains, over the Tinker API; else it answers, over the OpenAI API
	script  string // the Python file that runs it
}

// SkyRL samples from a model and trains it, on the processors of one machine.
func SkyRL() Engine {
	return Engine{Name: "skyrl", Title: "SkyRL 0.4.0 (Tinker API, JAX)", License: "Apache-2.0", Port: 8000, Tinker: true, script: "skyrl_server.py"}
}

// Llama answers with a quantized model, and trains nothing.
func Llama() Engine {
	return Engine{Name: "llama.cpp", Title: "llama.cpp (OpenAI API, xllamacpp)", License: "MIT", Port: 8080, script: "llama_server.py"}
}

// All lists the engines.
func All() []Engine { return []Engine{SkyRL(), Llama()} }

// Find returns the engine of a name.
func Find(name string) (Engine, error) {
	var names []string
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Engine{}, &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, What: fmt.Sprintf("this version of Merit has no engine %q", name),
		Hint: "use one of " + strings.Join(names, ", "), Allowed: names,
	}
}

// Folder is where engines and their models are kept: engines in $MERIT_HOME, or
// else in the merit folder of the user's cache; "" if there is none.
func Folder(getenv func(string) string) string {
	if home := getenv("MERIT_HOME"); home != "" {
		return filepath.Join(home, "engines")
	}
	for _, base := range []string{getenv("XDG_CACHE_HOME"), filepath.Join(getenv("HOME"), ".cache")} {
		if filepath.IsAbs(base) {
			return filepath.Join(base, "merit", "engines")
		}
	}
	return ""
}

// Plugins returns the folder of the plug-ins that come with an engine of folder.
func (e Engine) Plugins(folder string) string { return filepath.Join(folder, e.Name, "plugins") }

// Missing is the cause of an error about an engine that is not installed, or was by
// another version of Merit.
type Missing struct{ Engine Engine }

// Error says which.
func (m *Missing) Error() string { return m.Engine.Title + " is not installed" }

// Installed returns nil if the engine lies in folder as this version installs it,
// and otherwise an error around Missing.
func (e Engine) Installed(folder string) error {
	there, err := os.ReadFile(e.lockCopy(folder))
	if err == nil && bytes.Equal(there, lock(e.Name)) {
		return nil
	}
	f := &fault.Error{Boundary: fault.Model, Kind: fault.Missing, Where: filepath.Join(folder, e.Name), Err: &Missing{e}, Hint: "install it"}
	if err == nil {
		f.What, f.Hint = "contains other packages than this version of Merit was tested with", "install it again"
	}
	return f
}

func (e Engine) environment(folder string) string { return filepath.Join(folder, e.Name, "env") }

// Python is the Python of an engine in folder, with all its packages.
func (e Engine) Python(folder string) string {
	return filepath.Join(e.environment(folder), "bin", "python")
}

// lockCopy lies in the environment and is written last: one that is not whole has none.
func (e Engine) lockCopy(folder string) string {
	return filepath.Join(e.environment(folder), "merit.lock")
}

// lock returns the packages of an engine or a model, one a line, with the digests of
// the files that may be installed.
func lock(name string) []byte {
	text, err := files.ReadFile("files/" + name + ".lock")
	if err != nil {
		panic(err) // a name of this package
	}
	return text
}
