// Package testneeds is the one place where a test may stand aside: a machine
// with only Go runs everything that needs only Go, and says in one line what
// was not run and how to get it. With MERIT_FULL=1, as in CI, a missing need
// is a failure, so nothing passes by not running.
//
// It imports the standard library only and is imported by tests only.
package testneeds

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Full is the environment variable that turns every missing need into a
// failure.
const Full = "MERIT_FULL"

// Root returns the repository's root folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Shared returns the path of a file or folder of the shared data, which lies
// beside the repository or where MERIT_SHARED says, and is never part of it.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	dir := os.Getenv("MERIT_SHARED")
	if dir == "" {
		dir = filepath.Join(Root(), "..", "shared")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		missing(t, "shared data "+filepath.Join(elem...)+" is not beside the repository; set MERIT_SHARED to its folder")
	}
	return path
}

// Tool returns the path of a program, found by the first of names that is
// installed. Hint says how to get it.
func Tool(t testing.TB, hint string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, names[0]+" is not installed; "+hint)
	return ""
}

// File returns path if it exists. Hint says how to get it.
func File(t testing.TB, hint, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		missing(t, filepath.Base(path)+" is missing; "+hint)
	}
	return path
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(Full) == "1" {
		t.Fatal("needed with " + Full + "=1: " + what)
	}
	t.Skip("not run: " + what)
}
