package sandbox_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Promise: docs/machines.md lists exactly the programs that a machine has.
func TestProgramsOfThePage(t *testing.T) {
	testneeds.Slow(t, "starts CPython and the userland")
	folder := interpreter.Folder()
	testneeds.File(t, "run: make interpreter", interpreter.Python().Userland().Where(folder))
	c := sandbox.DefaultConfig()
	c.CacheDir = filepath.Join(filepath.Dir(folder), "test")
	machines, err := c.OpenBoxes(t.Context())
	require.NoError(t, err)
	defer machines.Close()
	m, err := machines.New(t.Context())
	require.NoError(t, err)
	r := m.Run(t.Context(), box.Command{Args: []string{"bash", "-c", "cd /usr && ls bin local/bin | grep -v ':$'"}, Env: []string{"PATH=/usr/bin"}, Dir: "/"})
	require.NoError(t, r.Err)
	has := strings.Fields(string(r.Output))

	page, err := os.ReadFile(filepath.Join(testneeds.Root(), "docs", "machines.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| for | programs |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(table, -1) {
		listed = append(listed, name[1])
	}
	slices.Sort(has)
	slices.Sort(listed)
	require.Equal(t, slices.Compact(has), listed)
}
