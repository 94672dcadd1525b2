package local

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: the native code of an interpreter is mapped from the cache: all processes share
// its pages, and to load it does not copy it.
func TestNativeCodeIsMapped(t *testing.T) {
	testneeds.NotShort(t)
	b := forkBackend(t, false)
	loadGuest(t, b, startingSource())
	again := loadGuest(t, forkBackend(t, false), startingSource())
	require.True(t, again.Cached())
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	found := false
	for line := range bytes.Lines(maps) {
		found = found || bytes.Contains(line, []byte("r-xp")) && bytes.Contains(line, []byte("/code-"))
	}
	require.True(t, found, "%s", maps)
}
