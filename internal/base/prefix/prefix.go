// Package prefix finds the files that were installed together with the running
// program: interpreters, plug-ins and examples. An archive, a Python wheel and a
// checkout all keep them in the same place relative to the program.
package prefix

import (
	"os"
	"path/filepath"
)

// Share returns a path below share/merit of the installation that the running
// program belongs to. share/merit is next to the folder bin that contains the
// program, after symbolic links are followed. Share returns "" if the program's
// own path is unknown. The path need not exist.
func Share(parts ...string) string {
	root := Root()
	if root == "" {
		return ""
	}
	return filepath.Join(append([]string{root, "share", "merit"}, parts...)...)
}

// Root returns the parent of the folder bin that contains the running program,
// after symbolic links are followed, or "" if the program's own path is
// unknown.
func Root() string {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(program))
}

// Cache returns the folder that keeps compiled modules between runs of a program:
// $MERIT_CACHE, or merit in the user's cache folder. It returns "" if there is no such
// folder or $MERIT_CACHE is off.
func Cache(getenv func(string) string) string {
	if folder := getenv("MERIT_CACHE"); folder == "off" {
		return ""
	} else if folder != "" {
		return folder
	}
	for _, base := range []string{getenv("XDG_CACHE_HOME"), filepath.Join(getenv("HOME"), ".cache")} {
		if filepath.IsAbs(base) {
			return filepath.Join(base, "merit")
		}
	}
	return ""
}
