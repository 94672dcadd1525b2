package cpus_test

import (
	"runtime"
	"testing"

	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/stretchr/testify/require"
)

// Promise: a spare processor is no more work at one time, and goes when it is
// given back, once.
func TestSpare(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	require.Equal(t, before, cpus.Count())
	restore := cpus.Spare()
	require.Equal(t, before+1, runtime.GOMAXPROCS(0))
	require.Equal(t, before, cpus.Count())
	restore()
	restore()
	require.Equal(t, before, runtime.GOMAXPROCS(0))
	require.Equal(t, before, cpus.Count())
}
