package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Command is what starts a plug-in.
type Command struct {
	Path string   // the program
	Name string   // its argv[0]; empty = Path
	Args []string // these precede the user's own arguments
	Env  []string // KEY=value, in addition to what every plug-in gets
}

// CommandOf returns what starts the plug-in at path. It does not look for the command
// of a folder in the working directory.
func CommandOf(path string) (Command, error) {
	f, err := formOf(path)
	if err != nil || inSandbox(path) {
		return Command{}, err
	}
	switch f {
	case script:
		return pythonCommand(path)
	case folder:
		return folderCommand(path)
	case builtin:
		return builtinCommand(path)
	}
	return Command{Path: path}, nil
}

// IsModule reports whether the plug-in at path runs in the sandbox, by its name: a
// WebAssembly module, or a path after Sandbox.
func IsModule(path string) bool { return strings.HasSuffix(path, wasmSuffix) || inSandbox(path) }

// Module returns the file that the sandbox runs as the plug-in at path, itself or by the
// command of its folder, and whether the folder belongs to it; "" for a plug-in that is a
// program.
func Module(path string) (file string, whole bool, err error) {
	f, err := formOf(path)
	switch {
	case err != nil, f == wasm, f == script && inSandbox(path):
		return bare(path), false, err
	case f != folder:
		return "", false, nil
	}
	m, err := ReadManifest(path)
	if err != nil || len(m.Command) == 0 || !strings.HasSuffix(m.Command[0], wasmSuffix) && !strings.HasSuffix(m.Command[0], jsSuffix) && !inSandbox(path) {
		return "", false, err
	}
	file, err = inFolder(bare(path), m.Command[0])
	if strings.HasSuffix(file, jsSuffix) && !inSandbox(path) {
		if f, _ := formOf(file); f != wasm { // it is executable, or missing
			return "", false, err
		}
	}
	return file, true, err
}

// Runs reports whether the sandbox runs the plug-in at path: Module returns its file, or
// why there is none.
func Runs(path string) bool {
	file, _, err := Module(path)
	return file != "" || err != nil
}

func folderCommand(dir string) (Command, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return Command{}, err
	}
	parts := make([]string, len(m.Command))
	for i, part := range m.Command {
		if parts[i], err = inFolder(dir, part); err != nil {
			return Command{}, err
		}
	}
	c := Command{Path: parts[0]}
	switch {
	case strings.HasSuffix(parts[0], pythonSuffix):
		if c, err = pythonCommand(parts[0]); err != nil {
			return c, err
		}
	case parts[0] == m.Command[0] && !filepath.IsAbs(parts[0]): // not a file in the folder
		if c.Path, err = lookUp(dir, parts[0]); err != nil {
			return c, err
		}
	}
	c.Args = append(c.Args, parts[1:]...)
	return c, nil
}

// inFolder returns the path of the file in the folder that a part of a command names,
// or else the part unchanged.
func inFolder(dir, part string) (string, error) {
	if part == "" || filepath.IsAbs(part) || strings.HasPrefix(part, "-") {
		return part, nil
	}
	full := filepath.Join(dir, part)
	if _, err := os.Lstat(full); err != nil || !filepath.IsLocal(part) {
		return part, nil
	}
	if leftOut(filepath.Clean(part)) {
		return "", &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Refused, Where: filepath.Join(dir, ManifestName), What: fmt.Sprintf("command: the plug-in's digest does not cover %s", part),
			Hint: "move what the plug-in runs out of __pycache__, .git and runs",
		}
	}
	return filepath.Abs(full)
}

func lookUp(dir, name string) (string, error) {
	missing := &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Missing, Where: filepath.Join(dir, ManifestName),
		What: fmt.Sprintf("command: %s is neither in this folder nor an installed program", name),
		Hint: "build it, install it, or correct the command",
	}
	if strings.ContainsRune(name, filepath.Separator) {
		return "", missing
	}
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", missing
	}
	return path, nil
}
