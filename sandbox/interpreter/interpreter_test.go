package interpreter_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/testneeds"
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
