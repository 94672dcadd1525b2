package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: workflows run the actions that were looked at, and none that a tag
// was moved to: each is named by its commit, with its version behind it.
func TestActionsArePinned(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", ".github", "workflows", "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	uses, pinned := regexp.MustCompile(`(?m)^.*\buses:.*$`), regexp.MustCompile(`uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, line := range uses.FindAllString(string(text), -1) {
			require.Regexp(t, pinned, line, path)
		}
	}
}
