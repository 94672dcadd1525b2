package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// register tells the kernel of one user namespace, and nobody else, that
// binaries for arm64 run in the emulator $1, so that merit can start processes:
// workers and plug-ins. It needs Linux 6.7.
const register = `set -e
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf ':arm64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:%s:F' "$1" >/proc/sys/fs/binfmt_misc/register
shift
exec "$@"`

// runner is how programs of a platform are run here.
type runner struct {
	line  []string // before the program; none if it is this machine's
	alone bool     // the program cannot start others: no workers, no plug-ins
}

// runnerOf says how a platform is run, or that nothing here runs it. Where users
// may make no namespaces the emulator runs what needs one process.
func runnerOf(t *testing.T, p platform) (r runner, ok bool) {
	t.Helper()
	switch {
	case p.OS == runtime.GOOS && p.Arch == runtime.GOARCH:
		return r, true
	case p.String() != "linux/arm64" || runtime.GOOS != "linux":
		t.Logf("built and looked at, not run: nothing here runs %s", p)
		return r, false
	}
	emulator := testneeds.Tool(t, "install qemu-user-static", "qemu-aarch64-static", "qemu-aarch64")
	line := []string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", register, "sh", emulator}
	if out, err := exec.Command(line[0], append(line[1:], "true")...).CombinedOutput(); err != nil {
		t.Logf("%s: without workers and plug-ins, which need Linux 6.7 and namespaces: %v: %s", p, err, out)
		return runner{line: []string{emulator}, alone: true}, true
	}
	return runner{line: line}, true
}

// patience is how long a program may hang in the emulator, which takes seconds
// for each here. Its fork can wait for ever for a lock that another thread held
// (QEMU's documentation of user mode: fork in programs with threads), so what
// was stopped is begun again, twice.
const patience = 4 * time.Minute

// run runs a program in a folder that is also its home.
func (r runner) run(ctx context.Context, home string, args []string) (text []byte, err error) {
	all := append(append([]string{}, r.line...), args...)
	for attempt := 0; ; attempt++ {
		once, stop := context.WithTimeout(ctx, patience)
		cmd := exec.CommandContext(once, all[0], all[1:]...)
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with what it has started
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		text, err = cmd.CombinedOutput()
		stood := once.Err() != nil
		stop()
		if !stood || len(r.line) == 0 || attempt == 2 {
			return text, err
		}
	}
}

// Promise: what is in an archive runs, as it was unpacked and with an empty
// home: the version, rewards in C, Go, JavaScript and Python, a Harbor task without
// a container, worker processes, plug-ins and estimators. On amd64 and on arm64, which is emulated where it must
// be, results and fuel are the same bytes.
func TestArchivesRun(t *testing.T) {
	native := platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	unpacked := map[string]map[string][]byte{}
	for p, archive := range archives(t) {
		if r, ok := runnerOf(t, p); ok {
			unpacked[p.Arch] = r.exercise(t, unpack(t, archive, t.TempDir()))
		}
	}
	require.Contains(t, unpacked, native.Arch)
	for arch, results := range unpacked {
		for name, got := range results {
			require.True(t, bytes.Equal(unpacked[native.Arch][name], got), "%s gives other bytes on %s than on %s", name, arch, native.Arch)
		}
	}
}

// inexact is what the embedded network says of its actions: processors that
// fuse a multiplication with an addition round it otherwise in the last digits.
var inexact = regexp.MustCompile(`"(log_prob|entropy)":[^,}]*,?`)

const answers = `{"id": "right", "messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "A: 4"}], "ground_truth": "4"}
{"id": "wrong", "messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "A: 5"}], "ground_truth": "4"}
`

// exercise runs what an archive holds and returns the files that came of it.
func (r runner) exercise(t *testing.T, root string) map[string][]byte {
	t.Helper()
	home, merit := t.TempDir(), filepath.Join(root, "bin", "merit")
	run := func(args ...string) []byte {
		t.Helper()
		text, err := r.run(t.Context(), home, args)
		require.NoError(t, err, string(text))
		return text
	}
	var version struct{ Version, Revision, Time string }
	require.NoError(t, json.Unmarshal(run(merit, "version", "--json"), &version))
	require.Contains(t, filepath.Base(root), version.Version)
	require.NotEmpty(t, version.Revision)
	require.NotEmpty(t, version.Time)
	require.Regexp(t, `^sokoban \S+ github.com/merit-rl/merit `+regexp.QuoteMeta(version.Version), string(run(merit, "merit-plugin", "sokoban", "--version")))

	example := filepath.Join(root, "share/merit/examples/sokoban")
	run(merit, "advantages", "--in", filepath.Join(example, "rows.jsonl"), "--out", "advantages.jsonl")
	run(merit, "eval", "--reward", filepath.Join(example, "reward.wasm"), "--data", filepath.Join(example, "episodes.jsonl"), "--out", "go.jsonl")
	data := filepath.Join(t.TempDir(), "answers.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(answers), 0o600))
	for out, reward := range map[string]string{
		"c.jsonl": "conformance/testdata/guests/c/answer.wasm", "js.jsonl": "js/examples/answer.js", "py.jsonl": "python/examples/answer.py",
	} {
		run(merit, "eval", "--reward", filepath.Join(testneeds.Root(), "sdk", reward), "--data", data, "--out", out)
	}
	reward := run(merit, "task", "run", filepath.Join(root, "share/merit/examples/harbor/log-report"))
	require.Contains(t, string(reward), "log-report  oracle  deleted 1, report 1, 1 ")
	many := 2
	if r.alone {
		many = 0
	} else {
		run(merit, "rollout", "-c", filepath.Join(example, "train.yaml"), "--groups", "2", "--out", "rollout.jsonl")
		run(merit, "eval", "--reward", filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests/c/answer.wasm"), "--data", data, "--out", "worker.jsonl", "--isolation", "process")
	}
	results := map[string][]byte{"task": reward}
	files, err := filepath.Glob(filepath.Join(home, "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 5+many)
	for _, path := range files {
		results[filepath.Base(path)] = inexact.ReplaceAll(readAll(t, path), nil)
	}
	require.NoError(t, os.RemoveAll(home))
	return results
}
