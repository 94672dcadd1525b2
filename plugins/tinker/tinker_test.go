package tinker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// modules are what the plug-in needs of a Python.
var modules = []string{"tinker", "transformers", "jinja2", "numpy", "grpc", "google.protobuf"}

// sources is where Python finds the plug-in.
func sources(more ...string) string {
	return strings.Join(append([]string{filepath.Join(testneeds.Root(), "sdk", "python"), "."}, more...), string(os.PathListSeparator))
}

// bytecode is where Python keeps what it compiles of engines, which uv and Merit
// install as source: to compile it at every start would take most of the tests.
func bytecode() []string {
	return []string{"PYTHONPYCACHEPREFIX=" + filepath.Join(filepath.Dir(interpreter.Folder()), "test", "pycache"), "PYTHONDONTWRITEBYTECODE="}
}

// Promise: what the tests in Python promise: of prompts, with the templates of
// several families of models; of acting and learning, against a service that can be
// told to fail.
func TestInPython(t *testing.T) {
	testneeds.Slow(t, "trains a language model")
	python := testneeds.PythonWith(t, modules...)
	cmd := exec.Command(python, "-m", "unittest", "discover", "-s", "tests")
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+sources("tests"), "HF_HUB_OFFLINE=1"), bytecode()...)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
}
