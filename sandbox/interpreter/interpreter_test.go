package interpreter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// Promise: an interpreter is used only if its digest is the one that Merit was
// tested with; the error says which is missing.
func TestLoad(t *testing.T) {
	for _, i := range interpreter.All() {
		folder := t.TempDir()
		for range 2 { // missing, then damaged
			_, err := i.Load(folder)
			require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Missing))
			var missing *interpreter.Missing
			require.ErrorAs(t, err, &missing)
			require.Equal(t, i.Name, missing.Interpreter.Name)
			require.NotEmpty(t, fault.As(err).Hint)
			require.NoError(t, os.WriteFile(i.Path(folder), []byte("\x00asm"), 0o600))
		}
	}
}

// Promise: what install fetched loads.
func TestInstalled(t *testing.T) {
	for _, i := range interpreter.All() {
		path := testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
		_, err := i.Load(filepath.Dir(path))
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "others may not touch it")
	}
}

// Promise: a program finds the interpreters that were shipped beside it, as in a
// Python wheel, where its user has installed none.
func TestShipped(t *testing.T) {
	const told = "MERIT_TEST_SHIPPED"
	js := interpreter.JavaScript()
	if folder := os.Getenv(told); folder != "" { // the copy below
		require.True(t, js.Installed(folder))
		_, err := js.Load(folder)
		require.NoError(t, err)
		require.Equal(t, interpreter.Shipped(), filepath.Dir(js.Where(folder)))
		_, err = interpreter.Python().Load(folder)
		require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Missing), "nobody shipped it")
		return
	}
	installed := testneeds.File(t, "run: merit js install", js.Path(interpreter.Folder()))
	prefix := t.TempDir()
	program := filepath.Join(prefix, "bin", "program")
	self, err := os.Executable()
	require.NoError(t, err)
	for from, to := range map[string]string{
		self:      program,
		installed: js.Path(filepath.Join(prefix, "share", "merit", "interpreters")),
	} {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(t, os.WriteFile(to, data, 0o700))
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(program, link))
	for _, start := range []string{program, link} {
		cmd := exec.Command(start, "-test.run", "^TestShipped$")
		cmd.Env = append(os.Environ(), told+"="+t.TempDir())
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
	}
}

// Promise: a file is taken only if it is a build that this version of Merit runs.
func TestTake(t *testing.T) {
	js := interpreter.JavaScript()
	installed := testneeds.File(t, "run: merit js install", js.Path(interpreter.Folder()))
	folder := filepath.Join(t.TempDir(), "interpreters")
	_, err := js.Take(filepath.Join(folder, "none.wasm"), folder)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Missing))
	for _, other := range []interpreter.Interpreter{js, interpreter.Python()} {
		build, err := other.Take(installed, folder)
		if other.Name == js.Name {
			require.NoError(t, err)
			require.True(t, build.Installed(folder))
			continue
		}
		require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
		require.Contains(t, fault.As(err).What, other.Builds()[0].Digest)
	}
}

// Promise: of the builds of an interpreter that a folder has, scripts run on the best one;
// without any, on the one that Install fetches.
func TestBestBuild(t *testing.T) {
	for _, i := range interpreter.All() {
		builds, folder := i.Builds(), t.TempDir()
		require.Len(t, builds, 2, i.Language)
		require.Equal(t, builds[1].Digest, i.In(folder).Digest)
		for _, b := range []interpreter.Interpreter{builds[1], builds[0]} {
			require.NoError(t, os.WriteFile(b.Path(folder), nil, 0o600))
			require.Equal(t, b.Digest, i.In(folder).Digest)
		}
		require.Empty(t, builds[0].Package, "Merit's own is the best")
	}
}
