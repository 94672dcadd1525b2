package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
)

// usePython makes the Python with gRPC run the plug-ins.
func usePython(t *testing.T) {
	python := testneeds.PythonWith(t, "grpc", "google.protobuf")
	path, err := exec.LookPath(python)
	require.NoError(t, err)
	t.Setenv(disk.PythonVariable, path)
}

// Promise: a Python file is a plug-in without changes: merit_plugin need not be
// installed, the file can import from its folder, and nothing is written there. A
// folder may start a Python file too.
func TestPythonPlugin(t *testing.T) {
	usePython(t)
	dir, cache := t.TempDir(), t.TempDir()
	t.Setenv("MERIT_CACHE", cache)
	source, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk", "python", "plugin_tests", "greeter.py"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "greeter.py"), append([]byte("from __future__ import annotations\nimport beside\n"), source...), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "beside.py"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, disk.ManifestName), []byte("name: greeter\ncommand: [greeter.py]\n"), 0o600))
	for _, path := range []string{filepath.Join(dir, "greeter.py"), dir} {
		cfg := host.DefaultPolicyConfig()
		cfg.Path = path
		found, err := host.CheckPolicy(t.Context(), cfg)
		require.NoError(t, err)
		require.Equal(t, []string{"greeter", host.Policy, "1.0.0"}, []string{found.Name, found.Kind, found.Version})
		digest, err := disk.Digest(path)
		require.NoError(t, err)
		require.Equal(t, digest, found.Digest)
		require.NoDirExists(t, filepath.Join(dir, "__pycache__"))
	}
	// A damaged copy is repaired, and without a cache a temporary copy is used.
	copies, err := filepath.Glob(filepath.Join(cache, "python", "*", "merit_plugin", "__init__.py"))
	require.NoError(t, err)
	for _, path := range copies {
		require.NoError(t, os.WriteFile(path, []byte("raise SystemExit(9)\n"), 0o600))
	}
	cfg := host.DefaultPolicyConfig()
	cfg.Path = dir
	_, err = host.CheckPolicy(t.Context(), cfg)
	require.NoError(t, err)
	t.Setenv("MERIT_CACHE", "off")
	_, err = host.CheckPolicy(t.Context(), cfg)
	require.NoError(t, err)
}

// Promise: if a Python cannot run plug-ins, the error says so and what to do.
func TestPythonThatCannot(t *testing.T) {
	script := filepath.Join(t.TempDir(), "maze.py")
	require.NoError(t, os.WriteFile(script, nil, 0o600))
	for text, says := range map[string]string{
		"echo 3 9": "is Python 3.9; plug-ins need 3.11 or later",
		"echo 3 12 grpc google.protobuf merit_plugin": "has no grpcio and no protobuf",
		"exit 1": "is not a working Python",
	} {
		python := filepath.Join(t.TempDir(), "python3")
		require.NoError(t, os.WriteFile(python, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
		t.Setenv(disk.PythonVariable, python)
		_, err := host.Inspect(t.Context(), script, "")
		require.ErrorContains(t, err, says)
		require.Contains(t, fault.As(err).Hint, disk.PythonVariable)
	}
	t.Setenv(disk.PythonVariable, "no-such-python")
	_, err := host.Inspect(t.Context(), script, "")
	require.ErrorContains(t, err, "no-such-python was not found")
}
