package guest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
)

// Build builds the reward or the environment in folder and returns the module. Do not call it for a language with
// a Script, which is not built.
func (l Language) Build(ctx context.Context, folder string) ([]byte, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "merit-build-")
	if err != nil {
		return nil, storage(err)
	}
	defer os.RemoveAll(scratch)
	made := filepath.Join(scratch, "reward.wasm")
	commands, err := l.Commands(ctx, folder, made)
	if err != nil {
		return nil, err
	}
	for _, c := range commands {
		if err := l.run(ctx, c); err != nil {
			return nil, err
		}
	}
	wasm, err := os.ReadFile(made)
	if err != nil {
		return nil, storage(err)
	}
	return wasm, nil
}

// makes says what Commands build.
func (l Language) makes() string { return cmp.Or(l.Makes, "rewards") }

func (l Language) run(ctx context.Context, c Command) error {
	program, err := lookUp(c.Args[0], c.Dir)
	if err != nil {
		return incomplete("", c.Args[0]+" is not installed; it builds "+l.makes()+" in "+l.Title, l.Needs[c.Args[0]])
	}
	cmd := exec.CommandContext(ctx, program, c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if line := l.lack(output); err != nil && line != "" {
		return incomplete(program, "cannot build "+l.makes()+" in "+l.Title+" on this machine: "+line, l.Needs[c.Args[0]])
	}
	if err != nil {
		return &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: c.Dir, What: "does not build (" + err.Error() + "):\n" + string(bytes.TrimSpace(output)),
			Hint: "correct the source; the command was: " + c.String(),
		}
	}
	return nil
}

// Incomplete means that a program that builds modules is not installed, or cannot build for
// WebAssembly.
type Incomplete string

// Error names the program and what it lacks.
func (i Incomplete) Error() string { return string(i) }

func incomplete(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Missing, Where: where, Err: Incomplete(what), Hint: hint}
}

// lack returns the line in which a program reports that it is incomplete, or "".
func (l Language) lack(output []byte) string {
	if l.Lacks == nil {
		return ""
	}
	for line := range bytes.Lines(output) {
		if l.Lacks.Match(line) {
			return string(bytes.TrimSpace(line))
		}
	}
	return ""
}

// lookUp finds a program on PATH or, as npx does, where npm installs the tools of a folder or
// of a parent folder.
func lookUp(program, folder string) (string, error) {
	path, err := exec.LookPath(program)
	for err != nil {
		local, missing := exec.LookPath(filepath.Join(folder, "node_modules", ".bin", program))
		if missing == nil {
			return local, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", err
		}
		folder = above
	}
	return path, nil
}

func storage(err error) error {
	f := &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, What: "cannot write", Err: err, Hint: "check the folder, its permissions and the space on the disk"}
	if errors.Is(err, fs.ErrNotExist) {
		f.Kind = fault.Missing
	}
	return f
}
