package testneeds_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
)

// recorder is a test that writes down what would become of it.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()           {}
func (r *recorder) Skip(args ...any)  { r.skipped = fmt.Sprint(args...); runtime.Goexit() }
func (r *recorder) Fatal(args ...any) { r.failed = fmt.Sprint(args...); runtime.Goexit() }

// find runs Tool with a folder of programs, each a shell script, as PATH.
func find(t *testing.T, programs map[string]string, names ...string) (path string, r *recorder) {
	dir := t.TempDir()
	for name, script := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700))
	}
	t.Setenv("PATH", dir)
	r = &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		path = testneeds.Tool(r, "get it here", names...)
	}()
	<-done
	return filepath.Base(path), r
}

// Promise: a compiler that is there but lacks what WebAssembly needs lets a
// test stand aside as one that is not there does, in one line that says why and
// how to get it; with MERIT_FULL=1 it is a failure.
func TestToolThatCannotBuild(t *testing.T) {
	const broken, works = "echo 'error: linker `rust-lld` not found' >&2; echo more >&2; exit 1", "exit 0"
	t.Setenv(testneeds.Full, "")
	path, r := find(t, map[string]string{"rustc": works}, "rustc")
	require.Equal(t, "rustc", path)
	require.Empty(t, r.skipped+r.failed)

	_, r = find(t, map[string]string{"rustc": broken}, "rustc")
	require.Regexp(t, "^not run: .*/rustc does not build for WebAssembly .error: linker `rust-lld` not found.; get it here$", r.skipped)
	_, r = find(t, nil, "rustc")
	require.Equal(t, "not run: rustc is not installed; get it here", r.skipped)

	path, r = find(t, map[string]string{"clang": broken, "clang++": works}, "clang", "clang++")
	require.Equal(t, "clang++", path)
	require.Empty(t, r.skipped+r.failed)
	path, _ = find(t, map[string]string{"python3": broken}, "python3")
	require.Equal(t, "python3", path, "no compiler, no trial")

	t.Setenv(testneeds.Full, "1")
	_, r = find(t, map[string]string{"rustc": broken}, "rustc")
	require.Contains(t, r.failed, "rust-lld")
	require.Empty(t, r.skipped)
}
