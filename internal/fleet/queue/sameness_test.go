package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: a worker refused because of its build is told whether the program or the CPU
// differs.
func TestSameness(t *testing.T) {
	require.Contains(t, sameness("v1-aaaaaaaaaa-111111", "v1-aaaaaaaaaa-222222"), "CPUs round differently")
	require.Contains(t, sameness("v1-aaaaaaaaaa-111111", "v1-bbbbbbbbbb-111111", "v1-aaaaaaaaaa-222222"), "CPUs round differently")
	for _, other := range []string{"v1-bbbbbbbbbb-111111", "b", ""} {
		require.Contains(t, sameness("v1-aaaaaaaaaa-111111", other), "run the same build of merit on both machines")
		require.Contains(t, sameness("a", other), "run the same build of merit on both machines")
	}
}
