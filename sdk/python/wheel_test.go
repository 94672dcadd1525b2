package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: the wheel is all that has to be installed: no npm, no network, no
// folder of the user's. It brings the shipped plug-ins, and the quickstart trains.
func TestWheel(t *testing.T) {
	python := testneeds.Python(t)
	wheels, err := filepath.Glob(filepath.Join(testneeds.Root(), "dist", "merit_rl-*linux*x86_64.whl"))
	require.NoError(t, err)
	wheel := testneeds.File(t, "run: make wheel", append(wheels, filepath.Join(testneeds.Root(), "dist", "merit_rl.whl"))[0])
	offline := []string{"unshare", "--user", "--map-root-user", "--net"}
	if exec.Command(offline[0], append(offline[1:], "true")...).Run() != nil { // where only root may
		offline = []string{"unshare", "--net"}
	}
	testneeds.Command(t, "allow users to make namespaces", append(offline[:len(offline):len(offline)], "true")...)
	env := filepath.Join(t.TempDir(), "env")
	out, err := exec.Command(python, "-m", "venv", env).CombinedOutput()
	require.NoError(t, err, string(out))
	folder := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		// Not even this machine's own loopback is there.
		line := append(append(offline[1:len(offline):len(offline)], filepath.Join(env, "bin", name)), args...)
		cmd := exec.Command(offline[0], line...)
		cmd.Dir = folder
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + filepath.Join(env, "bin")}
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
		return string(text)
	}
	run("pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)

	data := filepath.Join(t.TempDir(), "data.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"id": "a", "messages": [{"role": "assistant", "content": "A: 4"}], "ground_truth": "4"}`+"\n"), 0o600))
	reward, err := filepath.Abs(filepath.Join("examples", "answer.py"))
	require.NoError(t, err)
	require.NotContains(t, run("merit", "version"), "not installed")
	require.Contains(t, run("merit", "eval", "--reward", reward, "--data", data), "scored         1  (100.0 %)")

	require.Contains(t, run("merit", "task", "run", filepath.Join(env, "share", "merit", "examples", "harbor", "log-report")), "log-report  oracle  deleted 1, report 1, 1 ")

	plugins := run("merit", "plugin", "list")
	for _, name := range []string{"2048", "dataset", "frozenlake", "grid", "htdag", "openai", "openenv", "planner", "rubric", "sokoban", "toolbox"} {
		require.Regexp(t, `(?m)^`+name+` +(environment|policy) `, plugins)
	}
	require.Contains(t, run("merit", "quickstart", "--iterations", "2"), "all done after 2 iterations")
	require.Contains(t, run("merit", "explain", "quickstart/run"), "advantage")
	require.Contains(t, run("merit", "eval", "--reward", "quickstart/reward.wasm", "--data", "quickstart/episodes.jsonl"), "mean score     0.4583")
}
