package plugincmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
)

type buildOptions struct {
	host *console.Host
	Out  string `flag:"out" usage:"module to write (default: FOLDER/NAME.wasm, which each build replaces); an existing file is replaced only if it is a module"`
}

func newBuildCmd(h *console.Host) *cobra.Command {
	o := &buildOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "build [FOLDER]",
		Short: "Build an environment in Go as a WebAssembly module",
		Long: `Build compiles the environment in a folder for WebAssembly, from the same source as the
program that go build makes, and loads the module once to find errors. A configuration
names the module in environment.module. It then runs in the sandbox of rewards, without a
process, with limited fuel and memory.`,
		Example: "  merit plugin build maze",
		Args:    cobra.MaximumNArgs(1),
		RunE:    o.run,
	}, o)
	console.OutputOver(cmd, "out", "\x00asm")
	return cmd
}

// made is the result of a build.
type made struct {
	Module string `json:"module"`
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"`
}

func (o *buildOptions) run(cmd *cobra.Command, args []string) error {
	folder := "."
	if len(args) > 0 {
		folder = args[0]
	}
	out := o.Out
	if out == "" {
		out = filepath.Join(folder, disk.Name(folder)+".wasm")
	}
	scratch, err := os.MkdirTemp("", "merit-build-")
	if err != nil {
		return stored(err)
	}
	defer os.RemoveAll(scratch)
	file := filepath.Join(scratch, disk.Name(folder)+".wasm")
	if err := compile(cmd.Context(), folder, scratch, file); err != nil {
		return err
	}
	found, err := host.Inspect(cmd.Context(), file)
	if err != nil {
		return err
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return stored(err)
	}
	if err := o.write(out, wasm); err != nil {
		return err
	}
	m := made{out, found.Name, len(wasm), fmt.Sprintf("sha256:%x", sha256.Sum256(wasm))}
	if o.host.Global.JSON {
		return o.host.PrintJSON(m)
	}
	_, err = fmt.Fprintf(o.host.Stdout, "%s  %s %s  %.1f MiB  %s\n", m.Module, found.Name, found.Version, float64(m.Bytes)/(1<<20), m.Digest)
	return err
}

func (o *buildOptions) write(path string, wasm []byte) error {
	out, err := jsonl.Create(path, o.host.Stdout)
	if err != nil {
		return err
	}
	defer out.Drop()
	if _, err := out.Write(wasm); err != nil {
		return err
	}
	return out.Close()
}

// starter is a file that the build adds to the program. The main function of a module
// never runs, but the initializers do: this one runs last, and main only calls
// plugin.Serve, which returns in a module.
const (
	starterName = "zz_merit_module.go"
	starter     = "package main\n\nfunc init() { main() }\n"
)

// compile builds the program in a folder as a module.
func compile(ctx context.Context, folder, scratch, out string) error {
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
		return stored(err)
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
		Boundary: fault.Plugin, Kind: fault.Missing, Where: folder, What: "has no Go files", Err: err,
		Hint: "create an environment with merit plugin new FOLDER --kind env --lang go; a module in another language is built by its own compiler (docs/environment-modules.md)",
	}
}

func stored(err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, What: "the module cannot be written", Hint: "free disk space, or set TMPDIR", Err: err}
}
