// Package gomodule builds an environment in Go as a WebAssembly module, from the source of
// its program.
package gomodule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
)

// starter is a file that the build adds to the program. The main function of a module
// never runs, but the initializers do: this one runs last, and main only calls
// plugin.Serve, which returns in a module.
const (
	starterName = "zz_merit_module.go"
	starter     = "package main\n\nfunc init() { main() }\n"
)

// Build compiles the program in a folder into the file out.
func Build(ctx context.Context, folder, out string) error {
	scratch, err := os.MkdirTemp("", "merit-build-")
	if err != nil {
		return Stored(err)
	}
	defer os.RemoveAll(scratch)
	at, err := filepath.Abs(folder)
	if err == nil {
		err = exists(folder)
	}
	if err != nil {
		return err
	}
	added, overlay := filepath.Join(scratch, starterName), filepath.Join(scratch, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(at, starterName): added}})
	if err := errors.Join(err, os.WriteFile(added, []byte(starter), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return Stored(err)
	}
	program, err := exec.LookPath("go")
	if err != nil {
		return &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, Where: folder, What: "Go is not installed; it builds modules", Hint: "install Go 1.26 or later from https://go.dev/dl"}
	}
	cmd := exec.CommandContext(ctx, program, "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-overlay", overlay, "-o", out, ".")
	cmd.Dir, cmd.Env = at, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "PWD="+at)
	said, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Invalid, Where: folder, What: "does not build as a module (" + err.Error() + "):\n" + string(bytes.TrimSpace(said)),
			Hint: "correct the source; a module has no network, no processes and no C libraries",
		}
	}
	return nil
}

// exists returns an error if a folder has no Go program.
func exists(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err == nil && len(files) > 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Missing, Where: folder, What: "has no environment that can be built", Err: err,
		Hint: "give the folder of an environment in Go, Rust, C or AssemblyScript; docs/environment-modules.md says how to build one in another language",
	}
}

// Stored returns the error of a module that cannot be written.
func Stored(err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, What: "the module cannot be written", Hint: "free disk space, or set TMPDIR", Err: err}
}
