package sandbox

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/sandbox/internal/boxes"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/machine"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// The files of the userland, in the folder of the interpreters.
const (
	userlandFile  = "userland.wasm"
	packagesFile  = "userland-packages.zip"
	userlandCache = 1 << 30 // bytes of compiled modules, at least
)

// OpenMachines loads the userland, whose boxes are machines without a container: a file
// system in memory, a POSIX shell, the core utilities and Python. Nothing in them reaches the
// network or the host. What a command does is a function of the state of its box.
//
// The error is a *fault.Error; of kind Missing if the userland or CPython is not installed.
func (c Config) OpenMachines(ctx context.Context) (box.Maker, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	folder := cmp.Or(os.Getenv("MERIT_USERLAND"), c.InterpreterDir, interpreter.Folder())
	module, packages, err := userlandIn(folder)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Options{CacheDir: c.CacheDir, CacheBytes: max(int64(c.CacheMiB)<<20, userlandCache), Interpreter: c.Interpreter, Imports: engine.MachineImports()})
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: "sandbox.cache_dir", Err: err,
			What: "the folder for compiled modules cannot be trusted", Hint: "use a folder that only you can write to",
		}
	}
	python := cmp.Or(c.InterpreterDir, interpreter.Folder())
	by := &machine.Python{Interpreter: interpreter.Python().In(python), Folder: python, Packages: packages}
	u, err := machine.Load(ctx, e, module, machine.DefaultLimits(), by)
	if err != nil {
		e.Close()
		if fault.As(err) != nil {
			return nil, err
		}
		return nil, &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: folder, What: "the userland does not start", Err: err}
	}
	return &boxes.Maker{Userland: u, Release: e.Close}, nil
}

// userlandIn reads the userland and its packages of Python from a folder, or from where they
// were shipped.
func userlandIn(folder string) (module engine.Module, packages map[string][]byte, err error) {
	text, err := os.ReadFile(filepath.Join(folder, userlandFile))
	if shipped := interpreter.Shipped(); errors.Is(err, fs.ErrNotExist) && shipped != "" {
		folder = shipped
		text, err = os.ReadFile(filepath.Join(folder, userlandFile))
	}
	if err == nil {
		packages, err = unzipped(filepath.Join(folder, packagesFile))
	}
	if err != nil {
		return module, nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Missing, Where: filepath.Join(folder, userlandFile), Err: err,
			What: "the userland, which machines without a container run, is not installed", Hint: "build it with make userland in a checkout of Merit",
		}
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	return engine.Module{Title: "userland", Digest: sum, Read: func() ([]byte, error) { return text, nil }}, packages, nil
}

// unzipped reads the files in an archive; there may be none.
func unzipped(name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		if !f.FileInfo().IsDir() {
			files[f.Name] = data
		}
	}
	return files, nil
}
