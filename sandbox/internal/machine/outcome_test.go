package machine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
)

func bash(m *Machine, script string) box.Result {
	return m.Run(context.Background(), box.Command{Args: []string{"bash", "-c", script}, Env: linuxEnv, Dir: "/root"})
}

// Promise: a command that exceeds a limit ends with the reason, and the machine works on.
func TestLimitsEndACommand(t *testing.T) {
	u := limited(t, Limits{Fuel: 3_000_000_000, Output: 100_000, Memory: 96 << 20, Bytes: 32 << 20, Files: 2500})
	for _, c := range []struct {
		name, script string
		outcome      box.Outcome // "" for one that exits
		status       int
		said         string
	}{
		{name: "an endless loop of the shell", script: "while :; do :; done", outcome: box.OutOfFuel},
		{name: "an endless loop of Python", script: "python3 -c 'while True: pass'", outcome: box.OutOfFuel},
		{name: "of Python in Python", script: `python3 -c 'import subprocess; subprocess.run(["python3", "-c", "while True: pass"])'`, outcome: box.OutOfFuel},
		{name: "in the background", script: "while :; do :; done & wait", outcome: box.OutOfFuel},
		{name: "endless output", script: "yes", outcome: box.TooMuchOutput},
		{name: "endless output of Python", script: "python3 -c 'while True: print(1)'", outcome: box.TooMuchOutput},
		{name: "a pipe that nobody writes to", script: "exec 3< <(:); read x <<< a; python3 -c 'import os; r, w = os.pipe(); os.read(r, 1)'", outcome: box.Deadlock},
		{name: "programs without end", script: `echo 'python3 -c "import os; os.system(\"sh r\")"' > r; sh r`, outcome: box.TooNested},
		{name: "memory of Python", script: "python3 -c 'x = bytearray(1 << 28)'; echo $?", said: "MemoryError\n"},
		{name: "recursion of the shell", script: "f() { f; }; f", status: 1, said: "maximum function nesting level exceeded"},
		{name: "recursion of Python", script: "python3 -c 'def f(): f()\nf()' 2>&1 | tail -1", said: "RecursionError"},
		{name: "a full disk", script: "head -c 40000000 /dev/zero > big; echo $?; ls -s big | cut -c1", said: "No space left on device"},
		{name: "too many files", script: "for i in {1..3000}; do echo > f$i || break; done 2>&1 | tail -1", said: "No space left on device"},
		{name: "a fork bomb", script: "b() { b | b; }; b", status: 1, said: "Too many open files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := u.new()
			r := bash(m, c.script)
			if c.outcome == "" {
				require.NoError(t, r.Err, "%s", r.Errors)
				require.Equal(t, c.status, r.Status, "%s%s", r.Output, r.Errors)
				require.Contains(t, string(r.Output)+string(r.Errors), c.said)
			} else {
				require.ErrorIs(t, r.Err, c.outcome, "%s%s", r.Output, r.Errors)
			}
			again := bash(m, "echo works")
			require.Equal(t, "works\n", string(again.Output))
		})
	}
}

// Promise: a command is cancelled with its context, also within a program that a program started.
func TestCancel(t *testing.T) {
	u := userland(t)
	for _, script := range []string{"while :; do :; done", "python3 -c 'while True: pass'", `python3 -c 'import os; os.system("while :; do :; done")'`} {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		r := u.new().Run(ctx, box.Command{Args: []string{"bash", "-c", script}, Env: linuxEnv, Dir: "/"})
		require.ErrorIs(t, r.Err, box.Cancelled, script)
	}
}

// everything is a script with programs, pipes, background, random numbers and time.
const everything = `
set -u
mkdir -p d; for i in 1 2 3; do echo $RANDOM > d/$i; done; mktemp; date +%s.%N
find d -type f | sort | xargs md5sum > sums & wait
seq 50 | while read n; do echo $((n*n)); done | python3 -c 'import sys, random, time, os, uuid; print(sum(map(int, sys.stdin)), random.random(), time.time(), os.urandom(4).hex(), uuid.uuid4(), hash("x"), id(object()))'
python3 -c 'import os; print(sorted(os.environ)); os.system("ls -l --full-time d; cat sums")'
ls -la --full-time / d; stat -c '%n %i %y' d/*; for i in $(seq 20); do echo $i & done | sort -n | head -3; tar cf - d | sha256sum
`

// Promise: the same script on the same machine gives the same bytes and uses the same fuel,
// on any fork, after other commands, and at any parallelism.
func TestMachinesAreDeterministic(t *testing.T) {
	u := userland(t)
	first := bash(u.new(), everything)
	require.Zero(t, first.Status, "%s", first.Errors)
	base := u.new()
	bash(base, "echo something else > /root/other; rm /root/other")
	before := base.fork()
	want := bash(base, everything)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			r := bash(u.new(), everything)
			if string(r.Output) != string(first.Output) || string(r.Errors) != string(first.Errors) || r.Fuel != first.Fuel {
				t.Errorf("another run differs: %s", difference(string(first.Output), string(r.Output)))
			}
		})
		fork := before.fork()
		group.Go(func() {
			r := bash(fork, everything)
			if string(r.Output) != string(want.Output) || r.Fuel != want.Fuel {
				t.Errorf("a fork differs: fuel %d, not %d: %s", r.Fuel, want.Fuel, difference(string(want.Output), string(r.Output)))
			}
		})
	}
	group.Wait()
}

func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %q, not %q", i+1, y[i], x[i])
		}
	}
	return "fuel or errors alone"
}

// Promise: a process that a command leaves in the background ends with it.
func TestBackgroundEndsWithTheCommand(t *testing.T) {
	u := userland(t)
	m := u.new()
	r := bash(m, "(sleep 1; python3 -c 'import time; time.sleep(100); print(1)'; echo later > late) & echo first")
	require.Equal(t, "first\n", string(r.Output))
	require.Equal(t, "works\n", string(bash(m, "cat late 2>/dev/null; echo works").Output))
}
