package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: merit_reward works natively, for the tests of authors.
func TestNatively(t *testing.T) {
	python := testneeds.Python(t)
	cmd := exec.Command(python, "-B", "-m", "unittest", "discover", "-s", "tests")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(testneeds.Root(), "sdk", "python"))
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
}

// Promise: python -m merit_reward scores a file as the sandbox would.
func TestNativeCommand(t *testing.T) {
	python := testneeds.Python(t)
	data := filepath.Join(t.TempDir(), "data.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"id": "a", "messages": [{"role": "assistant", "content": "A: 4"}], "ground_truth": "4"}`+"\n"), 0o600))
	cmd := exec.Command(python, "-B", "-m", "merit_reward", filepath.Join("examples", "answer.py"), data)
	cmd.Env = append(os.Environ(), "PYTHONPATH=.")
	text, err := cmd.Output()
	require.NoError(t, err)
	require.JSONEq(t, `{"id": "a", "score": 1}`, string(text))
}
