package plugincmd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/host/gomodule"
	"github.com/merit-rl/merit/internal/rewards/guest"
)

type buildOptions struct {
	host *console.Host
	Out  string `flag:"out" usage:"module to write (default: FOLDER/NAME.wasm, which each build replaces); an existing file is replaced only if it is a module"`
}

func newBuildCmd(h *console.Host) *cobra.Command {
	o := &buildOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "build [FOLDER]",
		Short: "Build an environment as a WebAssembly module",
		Long: `Build compiles the environment in a folder for WebAssembly, and loads the module once to
find errors. The folder has a program in Go, from whose source go build also makes a
plug-in, or what merit plugin new creates in C, Rust or AssemblyScript. A configuration
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
		return gomodule.Stored(err)
	}
	defer os.RemoveAll(scratch)
	file := filepath.Join(scratch, disk.Name(folder)+".wasm")
	if err := build(cmd.Context(), folder, file); err != nil {
		return err
	}
	found, err := host.Inspect(cmd.Context(), file, "")
	if err != nil {
		return err
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return gomodule.Stored(err)
	}
	if err := o.write(out, wasm); err != nil {
		return err
	}
	m := made{out, found.Name, len(wasm), fmt.Sprintf("sha256:%x", sha256.Sum256(wasm))}
	if o.host.Global.JSON {
		return o.host.PrintJSON(m)
	}
	size := fmt.Sprintf("%.1f MiB", float64(m.Bytes)/(1<<20))
	if m.Bytes < 1<<20 {
		size = fmt.Sprintf("%.1f KiB", float64(m.Bytes)/(1<<10))
	}
	_, err = fmt.Fprintf(o.host.Stdout, "%s  %s %s  %s  %s\n", m.Module, found.Name, found.Version, size, m.Digest)
	return err
}

// build compiles a folder into a file.
func build(ctx context.Context, folder, file string) error {
	goes, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, l := range guest.Environments() {
		if len(goes) == 0 && l.Detect(os.DirFS(folder)) {
			wasm, err := l.Build(ctx, folder)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file, wasm, 0o600); err != nil {
				return gomodule.Stored(err)
			}
			return nil
		}
	}
	return gomodule.Build(ctx, folder, file)
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
