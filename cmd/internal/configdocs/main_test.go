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
	for name, file := range map[string]string{
		"train": "sdk/merit/configdocs.json", "serve": "internal/serve/serving/configdocs.json", "collect": "internal/traces/collecting/configdocs.json",
		"optimize": "internal/prompt/optimize/configdocs.json", "council": "internal/council/councils/configdocs.json",
	} {
		want, err := generate(testneeds.Root(), configs[name])
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(testneeds.Root(), file))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "run: go generate ./sdk/merit/...")
	}
}
