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

// Promise: the CPU seconds of a result reach the coordinator; a claim that cannot be true counts
// nothing, and does not spoil the result.
func TestSecondsOfAResult(t *testing.T) {
	body := []byte("done")
	e := envelope{worker: "w", digest: DigestOfBytes(body), stored: -1, tries: 1, cpu: 1.25}
	h, err := e.seal("subject", nil)
	require.NoError(t, err)
	got, err := open("subject", h, body)
	require.NoError(t, err)
	require.Equal(t, 1.25, got.cpu)
	for _, lie := range []string{"", "x", "-1", "NaN", "Inf", "1e300", "0x1p-2 "} {
		h.Set(headCPU, lie)
		got, err := open("subject", h, body)
		require.NoError(t, err)
		require.Zero(t, got.cpu, lie)
	}
	e.cpu = 0
	h, err = e.seal("subject", nil)
	require.NoError(t, err)
	require.NotContains(t, h, headCPU)
}
