package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// testCache is a folder of these tests' own: in one that other packages fill, the
// states of starts of minutes make way for theirs.
func testCache() string { return filepath.Join(filepath.Dir(interpreter.Folder()), "test-rewards") }

// all calls f for each reward of this folder, its packages installed.
func all(t *testing.T, f func(t *testing.T, name string)) {
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	t.Setenv("MERIT_CACHE", testCache())
	names, err := named(".", nil)
	require.NoError(t, err)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := installPackages(t.Context(), "python3", name); err != nil {
				testneeds.Aside(t, err.Error())
			}
			require.NoError(t, buildModule(t.Context(), name))
			f(t, name)
		})
	}
}

// Promise: the numbers of every README are those of this tree, and one and two
// processors give the same bytes. What depends on the machine is not compared.
func TestNumbers(t *testing.T) {
	if err := best(); err != nil {
		t.Skip(err)
	}
	all(t, func(t *testing.T, name string) {
		var said bytes.Buffer
		require.NoError(t, one(t.Context(), options{folder: ".", check: true, out: &said}, name), said.String())
	})
	require.NoError(t, catalogue(options{folder: ".", check: true}))
}

var evaluated = regexp.MustCompile(`(?m)^    merit eval .*--reward (\S+) .*--data (\S+)`)

// Promise: the commands of a README name files that exist.
func TestCommandsNameFiles(t *testing.T) {
	names, err := named(".", nil)
	require.NoError(t, err)
	for _, name := range append(names, ".") {
		text, err := os.ReadFile(filepath.Join(name, "README.md"))
		require.NoError(t, err)
		commands := evaluated.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, commands, name)
		for _, c := range commands {
			require.FileExists(t, filepath.Join(testneeds.Root(), c[2]), name)
			_, err := os.Stat(filepath.Join(testneeds.Root(), c[1]))
			require.NoError(t, err, name)
		}
	}
}

// Promise: a parameter that a reward does not have is an error, not a score by
// the defaults.
func TestParametersThatAreNotThere(t *testing.T) {
	merit := filepath.Join(t.TempDir(), "merit")
	text, err := exec.Command("go", "build", "-o", merit, filepath.Join(testneeds.Root(), "cmd", "merit")).CombinedOutput()
	require.NoError(t, err, string(text))
	all(t, func(t *testing.T, name string) {
		data := filepath.Join(t.TempDir(), "data.jsonl")
		require.NoError(t, os.WriteFile(data, []byte(`{"messages":[{"role":"assistant","content":"1"}]}`), 0o644))
		text, err := exec.Command(merit, "eval", "-q", "--reward", name, "--data", data, "--with", `{"weihgts":{}}`).CombinedOutput()
		require.Error(t, err, string(text))
		require.Contains(t, string(text), "weihgts")
	})
}

// Promise: every reward of this folder in Python says natively what it says in
// the sandbox, on its fixtures and on its data; every reward passes its tests.
// So does that of examples/rubric, which is one file among others.
func TestNativelyAsSandboxed(t *testing.T) {
	testneeds.Slow(t, "starts sympy")
	python := testneeds.PythonWith(t, "pytest")
	merit := filepath.Join(t.TempDir(), "merit")
	text, err := exec.Command("go", "build", "-o", merit, filepath.Join(testneeds.Root(), "cmd", "merit")).CombinedOutput()
	require.NoError(t, err, string(text))
	all(t, func(t *testing.T, name string) {
		if err := best(); err != nil && name == "code" {
			t.Skip(err) // its reasons contain tracebacks, which differ between versions of Python
		}
		tested(t, python, merit, name, name)
	})
	t.Run("rubric", func(t *testing.T) {
		tested(t, python, merit, filepath.Join("..", "rubric"), filepath.Join("..", "rubric", "reward.py"))
	})
}

// tested runs the Python tests of a folder, and the fixtures of its reward.
func tested(t *testing.T, python, merit, folder, module string) {
	tests, err := filepath.Glob(filepath.Join(folder, "test_*.py")) // packages bring their own tests
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(folder, "reward.py")); err == nil { // one in JavaScript runs in the sandbox only
		require.NotEmpty(t, tests)
		home := filepath.Dir(interpreter.Folder())
		cmd := exec.Command(python, append([]string{"-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "merit_reward.testing.plugin"}, tests...)...)
		packages, err := filepath.Abs(filepath.Join(folder, "packages")) // the pinned ones, before those of the machine
		require.NoError(t, err)
		path := strings.Join([]string{packages, filepath.Join(testneeds.Root(), "sdk", "python"), os.Getenv("PYTHONPATH")}, string(os.PathListSeparator))
		cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "MERIT_BINARY="+merit, "MERIT_HOME="+home)
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
		require.Contains(t, string(text), " passed")
	}

	text, err := exec.Command(merit, "reward", "test", module).CombinedOutput()
	require.NoError(t, err, string(text))
	text, err = exec.Command(merit, "reward", "check", module).CombinedOutput()
	require.NoError(t, err, string(text))
}
