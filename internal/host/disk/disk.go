// Package disk knows plug-ins as they lie on a disk, and starts none of them:
// where they are looked for, what their manifests say, what identifies them and
// which command starts them.
//
// A plug-in is an executable file, a Python file (NAME.py), a folder with a
// manifest (plugin.yaml) that says how what lies beside it is started, or built
// into the program itself, which then starts itself again.
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
	folder              // with a manifest
	builtin             // this program itself
)

const pythonSuffix = ".py"

// Find returns the path of a plug-in that is given by path (with a slash) or by
// name. A name is looked up in folders, in order: the file or folder NAME, then
// NAME.py.
func Find(plugin string, folders ...string) (string, error) {
	if strings.ContainsRune(plugin, filepath.Separator) || isBuiltin(plugin) {
		_, err := formOf(plugin)
		return plugin, err
	}
	for _, dir := range folders {
		for _, path := range []string{in(dir, plugin), in(dir, plugin+pythonSuffix)} {
			if _, err := formOf(path); err == nil {
				return path, trusted(dir, path)
			}
		}
	}
	return "", &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Missing, Where: plugin,
		What: "there is no plug-in of this name in " + Places(folders),
		Hint: hint(plugin, folders),
	}
}

// trusted refuses an installed plug-in that everybody on the machine can replace: it
// would run with the rights of whoever uses it. Other folders are the user's own
// choice, and some file systems, such as Windows' drives in WSL, show every file as
// everybody's.
func trusted(dir, path string) error {
	if filepath.Clean(dir) != Home(os.Getenv) {
		return nil
	}
	for _, at := range []string{path, dir, filepath.Dir(filepath.Clean(dir))} {
		info, err := os.Stat(at)
		if err != nil || info.Mode().Perm()&0o002 == 0 {
			continue
		}
		if sticky := info.Mode()&fs.ModeSticky != 0; sticky && at != path && at != dir { // as /tmp: what is there stays its owner's
			continue
		}
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: fmt.Sprintf("everybody can write to %s, so anybody could have put it there", at),
			Hint: "chmod o-w " + at + ", after a look at what lies there",
		}
	}
	return nil
}

// renamed are shipped plug-ins by the names that they had before.
var renamed = map[string]string{"prompts": "dataset"}

// hint says which plug-in was perhaps meant by a name that none has.
func hint(name string, folders []string) string {
	if now := renamed[name]; now != "" {
		return fmt.Sprintf("it is called %s now; its options are the same", now)
	}
	var there []string
	for _, dir := range folders {
		paths, _ := within(dir) // a folder that cannot be read offers none
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
	return "the plug-ins there are " + strings.Join(there, ", ") + "; one that lies elsewhere is given by its path"
}

// within returns the paths of the plug-ins in a folder, sorted. A folder that
// does not exist has none.
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

// Name is what a plug-in at a path is called: the last part of the path, without
// .py.
func Name(path string) string {
	if isBuiltin(path) {
		return strings.TrimPrefix(path, BuiltIn)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // of "." the folder's own
	}
	return strings.TrimSuffix(filepath.Base(path), pythonSuffix)
}

// Check says early and clearly what starting would say late: that there is no
// plug-in at path.
func Check(path string) error {
	_, err := formOf(path)
	return err
}

// formOf finds out what kind of plug-in lies at path, or why none does.
func formOf(path string) (form, error) {
	if isBuiltin(path) {
		return builtin, checkBuiltin(path)
	}
	info, err := os.Stat(path)
	e := &fault.Error{Boundary: fault.Plugin, Where: path}
	switch {
	case errors.Is(err, os.ErrNotExist):
		e.Kind, e.What, e.Hint = fault.Missing, "there is no such plug-in", "build it, or correct the path"
	case err != nil:
		e.Kind, e.What, e.Err = fault.Missing, "cannot be read", err
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, ManifestName)); err == nil {
			return folder, nil
		}
		e.Kind, e.What = fault.Refused, "is a folder without a "+ManifestName
		e.Hint = "a folder is a plug-in if its " + ManifestName + " says which command starts it; or give the plug-in's own file"
	case !info.Mode().IsRegular():
		e.Kind, e.What, e.Hint = fault.Refused, "is not a file", "give the plug-in's binary, its .py file, or its folder"
	case strings.HasSuffix(path, pythonSuffix):
		return script, nil
	case info.Mode()&0o111 == 0:
		e.Kind, e.What, e.Hint = fault.Refused, "is not an executable file", "give the plug-in's binary; chmod +x makes a file executable"
	default:
		return program, nil
	}
	return 0, e
}
