package task_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/harbor/boxtest"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// Promise: every version of the format is read, with its defaults and older names.
func TestConfig(t *testing.T) {
	c, problems := task.ParseConfig(`version = "1.0"
[metadata]
anything = [1, { deep = true }]
[agent]
timeout_sec = 900.0
user = 1000
[verifier]
env = { KEY = "${KEY:-none}" }
[environment]
memory = "2G"
cpus = 1
gpus = 0
allow_internet = true
mcp_servers = []
colour = "red"
[oracle.env]
A = "b"
`)
	require.Empty(t, problems)
	require.Equal(t, "1.0", c.SchemaVersion)
	require.Equal(t, []string{"environment.colour"}, c.Unknown)
	require.Equal(t, map[string]string{"A": "b"}, c.Solution.Env)
	require.InDelta(t, 900, *c.Agent.Timeout, 0)
	require.EqualValues(t, 1000, c.Agent.User)
	require.False(t, c.Verifier.Separate())
}

// Promise: all problems of a task.toml are reported, with their keys; a syntax error has its
// line.
func TestConfigProblems(t *testing.T) {
	_, problems := task.ParseConfig(`multi_step_reward_strategy = "best"
artifacts = ["../x"]
[verifier]
timeout_sec = -1
environment_mode = "shared"
[verifier.environment]
os = "plan9"
[environment]
memory = "two"
network_mode = "public"
allowed_hosts = ["x"]
[[environment.mcp_servers]]
name = "a"
transport = "stdio"
[[steps]]
name = "a"
min_reward = "high"
[[steps]]
name = "a"
`)
	text := ""
	for _, p := range problems {
		text += p.Error() + "\n"
	}
	for _, want := range []string{
		"multi_step_reward_strategy", "artifacts", "verifier.timeout_sec", "verifier.environment_mode", "verifier.environment.os", "environment.memory", "environment.allowed_hosts",
		"environment.mcp_servers[0].command", "steps[0].min_reward", "steps[1].name",
	} {
		require.Contains(t, text, want)
	}
	_, problems = task.ParseConfig("a = 1\nb = = 2\n")
	require.ErrorContains(t, problems[0], "line 2")
	_, problems = task.ParseConfig("[agent]\ntimeout_sec = \"long\"\n")
	require.Len(t, problems, 1)
}

// Promise: what a task lacks is reported together, with paths.
func TestLoadProblems(t *testing.T) {
	dir := boxtest.Task(t, map[string]string{"instruction.md": "-", "tests/test.sh": "-", "environment/Dockerfile": "-"})
	_, err := task.Load(dir)
	for _, want := range []string{"instruction.md: the instruction is missing", "tests/test.sh: the verifier is missing", "environment/Dockerfile: nothing defines the environment"} {
		require.ErrorContains(t, err, want)
	}
	_, err = task.Load(t.TempDir())
	require.ErrorContains(t, err, "task.toml: there is no task in this folder")
}

// Promise: the digest of a task is that of its content, and not of where it is.
func TestDigest(t *testing.T) {
	load := func(files map[string]string) string {
		tk, err := task.Load(boxtest.Task(t, files))
		require.NoError(t, err)
		return tk.Digest
	}
	require.Equal(t, load(nil), load(nil))
	require.NotEqual(t, load(nil), load(map[string]string{"tests/x": ""}))
}

// Promise: a path names a task, or the tasks in a folder; a folder without any is an error.
func TestFind(t *testing.T) {
	dir := boxtest.Task(t, nil)
	for _, path := range []string{dir, filepath.Dir(dir)} {
		dirs, err := task.Find(path)
		require.NoError(t, err)
		require.Equal(t, []string{dir}, dirs)
	}
	empty := t.TempDir()
	_, err := task.Find(empty)
	require.ErrorContains(t, err, "none has a task.toml")
	_, err = task.Find(filepath.Join(empty, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
