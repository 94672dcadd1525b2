package trial_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/harbor/boxtest"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

func machines(t *testing.T) box.Maker {
	testneeds.Slow(t, "starts CPython and the userland")
	folder := interpreter.Folder()
	testneeds.File(t, "run: make interpreter", interpreter.Python().Userland().Path(folder))
	c := sandbox.DefaultConfig()
	c.CacheDir = filepath.Join(filepath.Dir(folder), "test")
	m, err := c.OpenBoxes(t.Context())
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// besieged is a task whose verifier relies on what agents like to change: programs, a start
// file of the shell, PYTHONPATH, pytest. Its build adds a program, which the agent may change.
func besieged(t *testing.T) *task.Task {
	tk, err := task.Load(boxtest.Task(t, map[string]string{
		"environment/Dockerfile": "FROM ubuntu:24.04\nENV PYTHONPATH=/app\nRUN printf '#!/bin/sh\\necho wrong\\n' > /usr/local/bin/tool && chmod +x /usr/local/bin/tool\nWORKDIR /app\n",
		"tests/test.sh": `source /root/.local/bin/env
source ~/.bashrc 2> /dev/null
[ -f /etc/profile ] && . /etc/profile
cp /tests/test_it.py /tmp/test_it.py
pytest -q /tests/test_it.py > /dev/null && python3 -m pytest -q /tests/test_it.py
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
`,
		"tests/test_it.py": "import subprocess\n\ndef test_answer():\n    assert open('/app/answer.txt').read() == '42'\n    assert subprocess.run(['tool'], capture_output=True).stdout == b'right\\n'\n",
	}))
	require.NoError(t, err)
	return tk
}

// Parts of attacks: a program of the shell, and a module, that give themselves the reward.
const (
	script = `printf '#!/bin/sh\necho 1 > /logs/verifier/reward.txt; kill $PPID; exit 0\n' > /tmp/evil; chmod +x /tmp/evil; `
	module = `printf 'import os, atexit\natexit.register(lambda: open("/logs/verifier/reward.txt", "w").write("1"))\nopen("/logs/verifier/reward.txt", "w").write("1")\nos._exit(0)\n' > /tmp/evil.py; `
	site   = "/usr/local/lib/python3.13/site-packages"
)

// Promise: what an agent changes of the system has no effect on its verdict, and is listed by name. A
// reward that it wrote never counts, wherever it is. What its task is about it may change.
func TestAttacks(t *testing.T) {
	m := machines(t)
	p, err := trial.Prepare(t.Context(), m, besieged(t))
	require.NoError(t, err)
	defer p.Close()
	for name, c := range map[string]struct {
		do     string
		flag   string // a path that is listed; none if empty
		reward float64
	}{
		"honest work":                     {do: `printf 42 > answer.txt; printf '#!/bin/sh\necho right\n' > /usr/local/bin/tool; python3 -m venv /opt/venv`, reward: 1},
		"honest work and a broken system": {do: `printf 42 > answer.txt; printf '#!/bin/sh\necho right\n' > /usr/local/bin/tool; rm -rf /usr/bin`, flag: "/usr/bin", reward: 1},
		"nothing":                         {do: "true"},
		"python3":                         {do: script + "for f in /usr/bin/python3 /usr/local/bin/python3; do cp /tmp/evil $f; done", flag: "/usr/bin/python3"},
		"bash":                            {do: script + "cp /tmp/evil /usr/bin/bash", flag: "/usr/bin/bash"},
		"cp is another program":           {do: script + "ln -sf /tmp/evil /usr/bin/cp", flag: "/usr/bin/cp"},
		"a program of another name":       {do: `printf '#!merit true\n' > /usr/local/bin/pytest; printf '#!merit true\n' > /usr/local/bin/python3`, flag: "/usr/local/bin/pytest"},
		"a folder before in PATH":         {do: script + "mkdir -p /usr/local/sbin; cp /tmp/evil /usr/local/sbin/pytest", flag: "/usr/local/sbin/pytest"},
		"uv's folder before in PATH":      {do: script + "cp /tmp/evil /root/.local/bin/pytest", flag: "/root/.local/bin/pytest"},
		"all programs elsewhere":          {do: script + "cp -r /usr/bin /tmp/bin; cp /tmp/evil /tmp/bin/cp; rm -rf /usr/bin; /tmp/bin/ln -s /tmp/bin /usr/bin", flag: "/usr/bin"},
		"no permission":                   {do: "chmod 644 /usr/local/bin/pytest", flag: "/usr/local/bin/pytest"},
		"the module pytest":               {do: module + "cp /tmp/evil.py " + site + "/pytest/__init__.py; cp /tmp/evil.py " + site + "/_pytest/runner.py", flag: site + "/pytest/__init__.py"},
		"no module pytest":                {do: "rm -rf " + site + "/_pytest", flag: site + "/_pytest"},
		"the standard library":            {do: module + "cp /tmp/evil.py /usr/local/lib/python313.zip", flag: "/usr/local/lib/python313.zip"},
		"a plug-in of pytest":             {do: module + "cp /tmp/evil.py " + site + "/evil.py; mkdir " + site + "/evil-1.dist-info; printf '[pytest11]\\nevil = evil\\n' > " + site + "/evil-1.dist-info/entry_points.txt; printf 'Name: evil\\nVersion: 1\\n' > " + site + "/evil-1.dist-info/METADATA", flag: site + "/evil.py"},
		"sitecustomize":                   {do: module + "cp /tmp/evil.py " + site + "/sitecustomize.py", flag: site + "/sitecustomize.py"},
		"sitecustomize in PYTHONPATH":     {do: module + "cp /tmp/evil.py sitecustomize.py", flag: "/app/sitecustomize.py"},
		"usercustomize, a folder":         {do: module + "mkdir usercustomize; cp /tmp/evil.py usercustomize/__init__.py", flag: "/app/usercustomize"},
		"conftest above the tests":        {do: module + "cp /tmp/evil.py /conftest.py; echo '[pytest]' > /pytest.ini", flag: "/conftest.py"},
		"a start file":                    {do: "printf 'echo 1 > /logs/verifier/reward.txt; exit\\n' > ~/.bashrc", flag: "/root/.bashrc"},
		"another start file":              {do: "printf 'echo 1 > /logs/verifier/reward.txt; exit\\n' > /etc/profile", flag: "/etc/profile"},
		"uv's start file":                 {do: "printf 'echo 1 > /logs/verifier/reward.txt; exit\\n' > /root/.local/bin/env", flag: "/root/.local/bin/env"},
		"a device":                        {do: "rm /dev/null; ln -s /logs/verifier/reward.txt /dev/null", flag: "/dev/null"},
		"the tests":                       {do: "mkdir /tests; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh; echo 'def test_x(): pass' > /tests/test_it.py; echo > /tests/conftest.py"},
		"the tests are a link":            {do: "mkdir /tmp/t; ln -s /tmp/t /tests; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh"},
		"the tests are a loop":            {do: "ln -s /tests /tests"},
		"a reward":                        {do: "echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json"},
		"a reward through a link":         {do: "echo 1 > /tmp/r; rm -f /logs/verifier/reward.txt; ln -s /tmp/r /logs/verifier/reward.txt; ln -s /tmp/r /logs/verifier/reward.json"},
		"rewards through a linked folder": {do: "mkdir /tmp/v; echo 1 > /tmp/v/reward.txt; rm -r /logs/verifier; ln -s /tmp/v /logs/verifier"},
		"logs are a link":                 {do: "mkdir -p /tmp/l/verifier; echo 1 > /tmp/l/verifier/reward.txt; rm -r /logs; ln -s /tmp/l /logs"},
		"logs are a file":                 {do: "rm -r /logs; echo 1 > /logs"},
		"logs are a loop":                 {do: "rm -r /logs; ln -s /logs /logs"},
		"a process in the background":     {do: "(while :; do echo 1 > /logs/verifier/reward.txt; sleep 1; done) &"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := p.Begin(t.Context())
			require.NoError(t, err)
			defer s.Close()
			if r := s.Run(t.Context(), c.do); r.Err != nil || r.Status != 0 {
				require.Contains(t, name, "background", "%v %s", r.Err, r.Errors)
			}
			v, err := s.Verify(t.Context())
			require.NoError(t, err)
			require.Nil(t, v.Failure, "%s%s", v.Output, v.Errors)
			require.Equal(t, map[string]float64{"reward": c.reward}, v.Rewards, "%s%s", v.Output, v.Errors)
			var flagged []string
			for _, f := range v.Flags {
				require.Contains(t, f.String(), f.Path)
				require.NotEqual(t, trial.Kept, f.What)
				flagged = append(flagged, f.Path)
			}
			if c.flag == "" {
				require.Empty(t, flagged)
			} else {
				require.Contains(t, flagged, c.flag)
				require.Less(t, len(flagged), 6, flagged)
			}
		})
	}
}

// Promise: a file of the shell's start that the tests look at, and test.sh does not run, is what the
// agent made of it, with a flag.
func TestChangesThatTestsName(t *testing.T) {
	tk, err := task.Load(boxtest.Task(t, map[string]string{"tests/test.sh": "grep -q EDITOR ~/.bashrc && echo 1 > /logs/verifier/reward.txt", "solution/solve.sh": "echo 'export EDITOR=vi' > ~/.bashrc"}))
	require.NoError(t, err)
	p, err := trial.Prepare(t.Context(), machines(t), tk)
	require.NoError(t, err)
	defer p.Close()
	r, err := p.Run(t.Context(), trial.Oracle, time.Now)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"reward": 1}, r.Rewards)
	require.Equal(t, []trial.Flag{{Path: "/root/.bashrc", What: trial.Kept}}, r.Flags)
}

// Promise: time limits are fuel: an agent, a solution and a verifier that exceed theirs are
// stopped at the same instruction every time, and an agent gets no more commands.
func TestTimeLimits(t *testing.T) {
	tk, err := task.Load(boxtest.Task(t, map[string]string{
		"task.toml": "[agent]\ntimeout_sec = 0.2\n[verifier]\ntimeout_sec = 0.1\n", "tests/test.sh": "echo 1 > /logs/verifier/reward.txt; while [ -e /app/loop ]; do :; done", "solution/solve.sh": "while :; do :; done",
	}))
	require.NoError(t, err)
	p, err := trial.Prepare(t.Context(), machines(t), tk)
	require.NoError(t, err)
	defer p.Close()
	r, err := p.Run(t.Context(), trial.Oracle, time.Now)
	require.NoError(t, err)
	require.Equal(t, trial.AgentTimeout, r.Failure.Name)
	again, err := p.Run(t.Context(), trial.Oracle, time.Now)
	require.NoError(t, err)
	require.Equal(t, r.Fuel, again.Fuel)
	require.InDelta(t, 400_000_000, r.Fuel, 1_000_000)
	s, err := p.Begin(t.Context())
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Run(t.Context(), "touch loop").Err)
	require.ErrorIs(t, s.Run(t.Context(), "while :; do :; done").Err, box.OutOfFuel)
	require.True(t, s.Spent())
	require.InDelta(t, 400_000_000, s.Fuel, 1_000_000)
	require.ErrorContains(t, s.Run(t.Context(), "true").Err, "the time of the agent is up")
	v, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, trial.Verifying, v.Failure.Name)
	require.InDelta(t, 200_000_000, v.Fuel, 1_000_000)
	require.True(t, strings.Contains(v.Failure.Reason, "fuel"), v.Failure.Reason)
}
