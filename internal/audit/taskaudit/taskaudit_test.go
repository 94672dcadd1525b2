package taskaudit_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/taskaudit"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/boxtest"
)

// sound is a task without a defect. Its machine runs its verifier and its solution in Go.
var sound = map[string]string{
	"task.toml":         "[agent]\ntimeout_sec = 60.0\n[environment]\ncpus = 1\nmemory_mb = 512\n",
	"instruction.md":    "Write the answer to /app/answer.txt.",
	"solution/solve.sh": "printf 'the answer is %s' 42 > /app/answer.txt\n",
	"tests/test.sh":     "grep -q '^the answer is 42$' /app/answer.txt\n",
}

// judge is how the verifier of a test rewards a box.
type judge func(b *boxtest.Box, call int) string

func honest(b *boxtest.Box, _ int) string {
	if b.Text("/app/answer.txt") == "the answer is 42" {
		return "1"
	}
	return "0"
}

func audited(t *testing.T, change map[string]string, verify judge, solves bool) (*audit.Manifest, []audit.Result) {
	files := maps.Clone(sound)
	maps.Copy(files, change)
	calls := 0
	m := &boxtest.Maker{Do: func(b *boxtest.Box, c box.Command) box.Result {
		switch line := c.Args[len(c.Args)-1]; {
		case strings.Contains(line, "solve.sh") && solves:
			b.Put("/app/answer.txt", "the answer is 42")
		case line == "/tests/test.sh":
			calls++
			b.Put("/logs/verifier/reward.txt", verify(b, calls))
		}
		return box.Result{}
	}}
	manifest, digest, results, err := taskaudit.Run(t.Context(), m, boxtest.Task(t, files), [2]float64{0, 1})
	require.NoError(t, err)
	require.Len(t, results, len(audit.Environments()))
	require.Equal(t, manifest != nil, strings.HasPrefix(digest, "sha256:"))
	return manifest, results
}

// failures are the ids of the failed checks.
func failures(results []audit.Result) (ids []string) {
	for _, r := range results {
		if r.Status == audit.Fail || r.Status == audit.Oops {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Promise: a sound Harbor task raises no alarm, and a task with one defect fails the checks of
// RFC 008 that name it, and no others, with hints that name files of a task.
func TestTasks(t *testing.T) {
	twice := []string{"runtime.episode_determinism", "runtime.episode_isolation", "semantic.replayability", "semantic.verifier_determinism"}
	for _, row := range []struct {
		name   string
		change map[string]string
		verify judge
		idle   bool // the solution does nothing
		want   []string
	}{
		{name: "sound"},
		{name: "the verifier tests nothing", verify: func(*boxtest.Box, int) string { return "1" }, want: []string{"semantic.canary_floor", "semantic.floor_gap"}},
		{name: "the solution does not solve it", idle: true, want: []string{"semantic.floor_gap", "semantic.oracle_max"}},
		{name: "no solution", change: map[string]string{"solution/solve.sh": "-"}, want: []string{"semantic.oracle_max"}},
		{name: "the verdict changes", verify: func(b *boxtest.Box, call int) string { return honest(b, call) + fmt.Sprintf(".0%d", call) }, want: append(twice, "semantic.canary_floor", "semantic.oracle_max")},
		{name: "a reward that is not a number", verify: func(*boxtest.Box, int) string { return "good" }, want: []string{"runtime.reward_well_formed"}},
		{name: "the environment has the solution", change: map[string]string{"environment/notes.sh": sound["solution/solve.sh"]}, want: []string{"runtime.oracle_containment"}},
		{name: "the environment has the tests", change: map[string]string{"environment/check.sh": sound["tests/test.sh"]}, want: []string{"runtime.oracle_containment"}},
		{name: "the instruction has the solution", change: map[string]string{"instruction.md": "Do not run " + sound["solution/solve.sh"]}, want: []string{"semantic.no_solution_leakage"}},
		{name: "an unknown key", change: map[string]string{"task.toml": sound["task.toml"] + "memroy_mb = 1\n"}, want: []string{"static.manifest"}},
		{name: "no declarations", change: map[string]string{"task.toml": ""}, want: []string{"static.resource_declaration"}},
		{name: "a day", change: map[string]string{"task.toml": strings.Replace(sound["task.toml"], "60.0", "86400.0", 1)}, want: []string{"static.timeout_ceiling"}},
		{name: "no TOML", change: map[string]string{"task.toml": "[agent"}, want: []string{"static.manifest"}},
		{name: "a package without a version", change: map[string]string{"environment/requirements.txt": "numpy\n"}, want: []string{"static.dependency_pinning"}},
		{name: "a key", change: map[string]string{"environment/id_rsa": "secret"}, want: []string{"static.image_hygiene"}},
		{name: "a moving clone", change: map[string]string{"environment/Dockerfile": "FROM ubuntu:24.04\n# git clone https://example.com/a\nWORKDIR /app\n"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.verify == nil {
				row.verify = honest
			}
			_, results := audited(t, row.change, row.verify, !row.idle)
			require.ElementsMatch(t, row.want, failures(results), "%+v", results)
			for _, r := range results {
				if r.Remediation != nil { // a task has no openenv.yaml
					require.NotRegexp(t, `openenv\.yaml|validation\.|episode_timeout_s`, *r.Remediation, r.ID)
				}
			}
		})
	}
}

// Promise: a task that needs a container is not judged by what was not run: its checks are
// skipped and name what it needs.
func TestTaskThatNeedsMore(t *testing.T) {
	_, results := audited(t, map[string]string{"environment/Dockerfile": "FROM nvidia/cuda:12\nWORKDIR /app\n"}, honest, true)
	for _, r := range results {
		if r.ID == "semantic.oracle_max" {
			require.Equal(t, audit.Skip, r.Status)
			require.Contains(t, r.Evidence[0], "it does not run without a container: it needs image nvidia/cuda:12")
		}
	}
	require.Empty(t, failures(results))
}

// Promise: the manifest of a task has the declarations of its task.toml in the peers' form.
func TestManifest(t *testing.T) {
	m, _ := audited(t, nil, honest, true)
	require.Equal(t, audit.Harbor, m.Signature)
	require.Equal(t, "tests/test.sh", *m.Capabilities.Verifier.Entry)
	require.Equal(t, &audit.Oracle{Form: "script", Location: "solution/solve.sh"}, m.Capabilities.Oracle)
	require.Equal(t, []float64{1, 512, 60}, []float64{m.Resources.CPU, float64(m.Resources.Memory), m.Resources.Timeout})
}
