package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/plugins"
)

func TestMain(m *testing.M) {
	plugins.Main()
	if text := os.Getenv(variable); text != "" {
		if err := play(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Promise: a run whose workers, coordinator and server are killed, stopped and
// drained at random moments has the bytes of an undisturbed one. The whole table
// and 200 faults are for make soak-fleet: they take minutes.
func TestAFewFaults(t *testing.T) {
	folder := t.TempDir()
	want, err := undisturbed(testneeds.Root(), folder)
	require.NoError(t, err)
	require.NoError(t, soak(t.Context(), testneeds.Root(), filepath.Join(folder, "soak"), 8, 5, want))
}
