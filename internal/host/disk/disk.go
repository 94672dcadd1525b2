// Package disk handles plug-ins on disk without starting them: where Merit looks for
// them, what their manifests contain, what identifies them and which command starts
// them.
//
// A plug-in is an executable file, a Python file (NAME.py), a WebAssembly module
// (NAME.wasm), JavaScript for the sandbox (NAME.js), or a folder with a manifest (plugin.yaml) that says how to start the
// folder's files. It may also be built into
// the program itself, which then starts itself again.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// The forms of a plug-in.
type form int

const (
	program form = iota // an executable file
	script              // a Python file
	wasm                // what runs in Merit's own process: a WebAssembly module, or JavaScript
	folder              // with a manifest
	builtin             // this program itself
)

const (
	pythonSuffix = ".py"
	wasmSuffix   = ".wasm"
	jsSuffix     = ".js"
)

// Sandbox precedes the path or name of an environment in Python that runs in the sandbox
// instead of a process: sandbox:./maze.py, or a folder with such a file.
const Sandbox = "sandbox:"

// bare is a path without Sandbox.
func bare(path string) string { return strings.TrimPrefix(path, Sandbox) }

func inSandbox(path string) bool { return strings.HasPrefix(path, Sandbox) }

// Find returns the path of a plug-in that is given by path (with a slash) or by name.
// It looks a name up in folders, in order: first the file or folder NAME, then NAME.py,
// NAME.wasm and NAME.js.
func Find(plugin string, folders ...string) (string, error) {
	if inSandbox(plugin) {
		path, err := Find(bare(plugin), folders...)
		if err == nil {
			path = Sandbox + path
			err = Check(path)
		}
		return path, err
	}
	if strings.ContainsRune(plugin, filepath.Separator) || isBuiltin(plugin) {
		_, err := formOf(plugin)
		return plugin, err
	}
	for _, dir := range folders {
		for _, path := range []string{in(dir, plugin), in(dir, plugin+pythonSuffix), in(dir, plugin+wasmSuffix), in(dir, plugin+jsSuffix)} {
			if _, err := formOf(path); err == nil {
				return path, trusted(dir, path)
			}
		}
	}
	return "", &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Missing, Where: plugin,
		What: "no plug-in has this name in " + Places(folders),
		Hint: hint(plugin, folders),
	}
}

// trusted refuses an installed plug-in that any user of the machine can replace,
// because it runs with the rights of its user. Merit checks no other folders: they are
// the user's own choice, and some file systems, such as Windows drives in WSL, show
// every file as writable by all.
func trusted(dir, path string) error {
	if filepath.Clean(dir) != Home(os.Getenv) {
		return nil
	}
	for _, at := range []string{path, dir, filepath.Dir(filepath.Clean(dir))} {
		info, err := os.Stat(at)
		if err != nil || info.Mode().Perm()&0o002 == 0 {
			continue
		}
		if sticky := info.Mode()&fs.ModeSticky != 0; sticky && at != path && at != dir { // as in /tmp: only the owner of a file can replace it
			continue
		}
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: fmt.Sprintf("any user can write to %s, and so could have replaced the plug-in", at),
			Hint: "chmod o-w " + at + ", after you check its contents",
		}
	}
	return nil
}

// renamed maps former names of shipped plug-ins to their present names.
var renamed = map[string]string{"prompts": "dataset"}

// hint suggests the plug-in that an unknown name probably means.
func hint(name string, folders []string) string {
	if now := renamed[name]; now != "" {
		return fmt.Sprintf("it is called %s now; its options are the same", now)
	}
	var there []string
	for _, dir := range folders {
		paths, _ := within(dir) // skip a folder that cannot be read
		for _, path := range paths {
			if n := Name(path); !slices.Contains(there, n) {
				there = append(there, n)
			}
		}
	}
	if nearest := fault.Nearest(name, there); nearest != "" {
		return fmt.Sprintf("did you mean %s?", nearest)
	}
	if len(there) == 0 {
		return "build it into one of these folders, or give its path"
	}
	return "choose one of " + strings.Join(there, ", ") + "; give the path of one in another folder"
}

// within returns the paths of the plug-ins in a folder, sorted. It returns none for a
// folder that does not exist.
func within(dir string) ([]string, error) {
	if dir == BuiltIn {
		return builtinPaths(), nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, Where: dir, What: "cannot be listed", Err: err}
	}
	var paths []string
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if _, err := formOf(path); err == nil && !strings.HasPrefix(entry.Name(), ".") {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Name returns the name of the plug-in at a path: the last part of the path, without
// .py, .wasm or .js.
func Name(path string) string {
	path = bare(path)
	if isBuiltin(path) {
		return strings.TrimPrefix(path, BuiltIn)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // for ".", the folder's own name
	}
	return stem(filepath.Base(path))
}

// stem is a path without .py, .wasm or .js.
func stem(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path, pythonSuffix), wasmSuffix), jsSuffix)
}

// Check reports that there is no plug-in at path before anything tries to start it.
func Check(path string) error {
	_, err := formOf(path)
	return err
}

// playable returns why a plug-in does not run in the sandbox.
func playable(path string, f form) error {
	file := bare(path)
	if f == folder {
		m, err := ReadManifest(file)
		if err != nil {
			return err
		}
		file = m.Command[0]
	}
	if f != builtin && (IsModule(file) || strings.HasSuffix(file, jsSuffix) || strings.HasSuffix(file, pythonSuffix)) {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Refused, Where: bare(path), What: "is a program, which the sandbox cannot run",
		Hint: "name a WebAssembly module, a file in Python or JavaScript, or a folder whose plugin.yaml starts one of them; a program runs as plugin",
	}
}

// formOf returns the form of the plug-in at path, or why there is none.
func formOf(path string) (form, error) {
	if inSandbox(path) {
		f, err := formOf(bare(path))
		if err == nil {
			err = playable(path, f)
		}
		return f, err
	}
	if isBuiltin(path) {
		return builtin, checkBuiltin(path)
	}
	info, err := os.Stat(path)
	e := &fault.Error{Boundary: fault.Plugin, Where: path}
	switch {
	case errors.Is(err, os.ErrNotExist):
		e.Kind, e.What, e.Hint = fault.Missing, "no such plug-in exists", "build it, or correct the path"
	case err != nil:
		e.Kind, e.What, e.Err = fault.Missing, "cannot be read", err
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, ManifestName)); err == nil {
			return folder, nil
		}
		e.Kind, e.What = fault.Refused, "is a folder without a "+ManifestName
		e.Hint = "add a " + ManifestName + " with the command that starts the plug-in, or give the plug-in's own file"
	case !info.Mode().IsRegular():
		e.Kind, e.What, e.Hint = fault.Refused, "is not a file", "give the plug-in's binary, its .py file, or its folder"
	case strings.HasSuffix(path, pythonSuffix):
		return script, nil
	case strings.HasSuffix(path, wasmSuffix), strings.HasSuffix(path, jsSuffix) && info.Mode()&0o111 == 0:
		return wasm, nil
	case info.Mode()&0o111 == 0:
		e.Kind, e.What, e.Hint = fault.Refused, "is not an executable file", "give the plug-in's binary; chmod +x makes a file executable"
	default:
		return program, nil
	}
	return 0, e
}
