// Package prefix finds the files that were installed together with the running
// program: interpreters, plug-ins and examples. An archive, a Python wheel and a
// checkout all keep them in the same place relative to the program.
package prefix

import (
	"os"
	"path/filepath"
)

// Share returns a path below share/merit of the installation that the running
// program belongs to: share/merit stands beside the folder bin that holds the
// program, symbolic links followed. It is "" if the program's own path is
// unknown. The path need not exist.
func Share(parts ...string) string {
	root := Root()
	if root == "" {
		return ""
	}
	return filepath.Join(append([]string{root, "share", "merit"}, parts...)...)
}

// Root returns the folder that holds the folder bin of the running program,
// symbolic links followed, or "" if the program's own path is unknown.
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
