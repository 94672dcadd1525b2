package prefix_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/internal/base/prefix"
	"github.com/stretchr/testify/require"
)

// Promise: shared files are looked up beside the folder that holds the running
// program.
func TestShareStandsBesideTheProgram(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	program, err = filepath.EvalSymlinks(program)
	require.NoError(t, err)
	root := filepath.Dir(filepath.Dir(program))
	require.Equal(t, root, prefix.Root())
	require.Equal(t, filepath.Join(root, "share", "merit", "plugins"), prefix.Share("plugins"))
}
