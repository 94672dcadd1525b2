package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: a pure-Python package of the size of sympy runs as documented, from
// its sources and within the default limits: an evaluation finds what the
// warm-up has imported and cached.
func TestSympy(t *testing.T) {
	needInterpreters(t)
	const where = "import os, sympy, mpmath; print(os.path.dirname(sympy.__file__), os.path.dirname(mpmath.__file__), sep='\\n')"
	python := testneeds.Command(t, "pip install sympy", "python3", "-c", where)
	out, err := exec.Command(python, "-c", where).Output()
	require.NoError(t, err)
	dir := t.TempDir()
	for _, pkg := range strings.Fields(string(out)) {
		copySources(t, pkg, filepath.Join(dir, filepath.Base(pkg)))
	}
	text, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk", "python", "examples", "equal.py"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reward.py"), text, 0o600))
	m, err := oneWorker(t).LoadFile(context.Background(), dir)
	require.NoError(t, err)
	for answer, want := range map[string]float64{"x**2 + 6*x + 9": 1, "x**2 + 9": 0} {
		x := &rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleAssistant, Content: rl.Text("#### " + answer)}}, GroundTruth: []byte(`"(x + 3)**2"`)}
		e := m.Evaluate(context.Background(), x)
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		require.Equal(t, want, e.Result.Score, answer)
	}
}

// copySources copies the sources of a Python package, without bytecode.
func copySources(t *testing.T, from, to string) {
	require.NoError(t, filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" {
			return err
		}
		name, err := filepath.Rel(from, path)
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o700))
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	}))
}

// Promise: the standard library's modules that CPython lacks here do not keep a
// package from its work when it takes another way.
func TestPackagesFallBack(t *testing.T) {
	needInterpreters(t)
	m, err := oneWorker(t).LoadFile(context.Background(), folder(t, map[string]string{
		"reward.py": "from pkg import work\ndef reward(messages): return work([1, 2, 3])\n",
		"pkg/__init__.py": `
from concurrent.futures import ThreadPoolExecutor
import ctypes, multiprocessing, ssl

try:
    _lib = ctypes.CDLL("libfast.so")
except OSError:
    _lib = None

def double(x): return 2 * x

def work(xs):
    try:
        with ThreadPoolExecutor(multiprocessing.cpu_count()) as pool:
            return sum(pool.map(double, xs))
    except RuntimeError:
        return sum(map(double, xs))
`,
	}))
	require.NoError(t, err)
	e := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 12.0, e.Result.Score)
}
