package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: the guest's side of the layout is what go generate makes of the
// host's.
func TestGuestLayoutIsUpToDate(t *testing.T) {
	made := filepath.Join(t.TempDir(), "layout.go")
	require.NoError(t, run([]string{filepath.Join(testneeds.Root(), "sandbox/abi/layout.go"), made}))
	want, err := os.ReadFile(made)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/reward/internal/layout/layout.go"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "stale: run go generate ./sandbox/abi")
}

// Promise: a file without the constants is an error, not an empty package.
func TestNoConstants(t *testing.T) {
	_, err := guestSide("package abi\n")
	require.ErrorContains(t, err, "Version of the layout")
}
