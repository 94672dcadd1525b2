package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: the schema says what the comments in the source say now.
func TestDocsAreUpToDate(t *testing.T) {
	want, err := generate(testneeds.Root())
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(testneeds.Root(), "core/config/configdocs.json"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run: go generate ./core/config")
}
