package guest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/rewards/guest"
)

// Promise: a compiler that npm installed into the folder of a reward, or into a parent folder,
// is found without being on PATH; the error for a missing one says how to install it.
func TestBuildFindsLocalTools(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	lang, err := guest.Find("assemblyscript")
	require.NoError(t, err)
	lang.Commands = func(_ context.Context, folder, out string) ([]guest.Command, error) {
		return []guest.Command{{Dir: folder, Args: []string{"merit-test-compiler", out}}}, nil
	}
	lang.Needs = map[string]string{"merit-test-compiler": "write it"}
	project := t.TempDir()
	folder := filepath.Join(project, "rewards", "exactness")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	_, err = lang.Build(context.Background(), folder)
	require.ErrorContains(t, err, "merit-test-compiler is not installed")
	bin := filepath.Join(project, "node_modules", ".bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "merit-test-compiler"), []byte("#!/bin/sh\nprintf made > \"$1\"\n"), 0o755))
	wasm, err := lang.Build(context.Background(), folder)
	require.NoError(t, err)
	require.Equal(t, "made", string(wasm))
}
