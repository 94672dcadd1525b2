package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: on a terminal, merit train draws curves in place, in color unless NO_COLOR is set, and
// leaves the picture. On a dumb terminal, it writes lines.
func TestTrainOnATerminal(t *testing.T) {
	testneeds.NotShort(t)
	b := newBench(t)
	for _, c := range []struct {
		name     string
		env      string
		animated bool
		coloured bool
	}{
		{"colours", "TERM=xterm", true, true},
		{"no colours", "NO_COLOR=1", true, false},
		{"dumb", "TERM=dumb", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			screen := b.screen("TERM=xterm", c.env)
			require.Contains(t, screen, "test trained greedy   success")
			require.Equal(t, c.animated, bytes.Contains([]byte(screen), []byte("\x1b[K")))
			require.Equal(t, c.animated, bytes.Contains([]byte(screen), []byte("iteration 1/1")))
			require.Equal(t, c.animated, bytes.Contains([]byte(screen), []byte("quiet")))
			require.Equal(t, c.coloured, bytes.Contains([]byte(screen), []byte("\x1b[36m")))
		})
	}
}

// screen returns what a run of one iteration writes to a terminal of 100 × 30.
func (b bench) screen(env ...string) string {
	env = append([]string{"MERIT_PLUGINS=" + filepath.Join(built.dir, "plugins"), "MERIT_CACHE=" + filepath.Join(built.dir, "cache")}, env...)
	screen, err := onTerminal(b.t, b.dir, env, "train", "-c", "tiny.yaml", "--out", "run", "--force", "--iterations", "1")
	require.NoError(b.t, err, screen)
	return screen
}

// onTerminal returns what merit writes to a terminal of 100 × 30, and how it exits.
func onTerminal(t *testing.T, dir string, env []string, args ...string) (string, error) {
	merit, err := exec.LookPath("merit")
	require.NoError(t, err)
	cmd := exec.Command(merit, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 100, Rows: 30})
	require.NoError(t, err)
	defer terminal.Close()
	var screen bytes.Buffer
	_, _ = io.Copy(&screen, terminal) // ends with an error when the other side is closed
	return strings.ReplaceAll(screen.String(), "\r\n", "\n"), cmd.Wait()
}

// Promise: results that are longer than the terminal go through the user's pager, others and those of
// --no-pager do not; leaving the pager early is not an error, a pager that is missing costs nothing
// but a warning, and messages follow the pager.
func TestPager(t *testing.T) {
	testneeds.NotShort(t)
	dir := t.TempDir()
	var data strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&data, `{"id":"mail-%d","messages":[{"role":"user","content":"écris"},{"role":"assistant","content":"Dear Ms Roth"}]}`+"\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mails.jsonl"), []byte(data.String()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pager"), []byte("#!/bin/sh\necho \"paged $LESS\"\nsed 's/^/| /'\n"), 0o755))
	const mine, other = "MERIT_PAGER=./pager", "PAGER=./pager"
	const note = "the first 10; --limit 0 prints all"
	for name, c := range map[string]struct {
		env   []string
		args  string
		paged bool
		shown string
	}{
		"own":         {[]string{mine, "PAGER=false"}, "", true, "paged FRX\n| \x1b[1mmail-0\x1b[0m"},
		"colors":      {[]string{mine, "NO_COLOR=1"}, "", true, "paged FRX\n| mail-0\n|   user\n|     écris\n"},
		"any":         {[]string{other, "LESS=F"}, "", true, "paged F\n"},
		"note":        {[]string{mine}, "", true, "| \n" + note},
		"words":       {[]string{"MERIT_PAGER=cat | ./pager"}, "", true, "paged FRX"},
		"short":       {[]string{mine}, "--limit 2", false, "mail-1"},
		"off":         {[]string{"MERIT_PAGER=", other}, "", false, "mail-9"},
		"cat":         {[]string{"PAGER=cat"}, "", false, "mail-9"},
		"dumb":        {[]string{mine, "TERM=dumb"}, "", false, "mail-9"},
		"flag":        {[]string{mine}, "--no-pager", false, "mail-9"},
		"left early":  {[]string{"MERIT_PAGER=head -n 2"}, "--limit 0", false, "mail-0"},
		"not started": {[]string{"MERIT_PAGER=no-such-pager -x"}, "", false, "hint: set MERIT_PAGER to another one, or to cat for none\n"},
	} {
		t.Run(name, func(t *testing.T) {
			env := append([]string{"TERM=xterm", "NO_COLOR="}, c.env...)
			screen, err := onTerminal(t, dir, env, append([]string{"view", "mails.jsonl"}, strings.Fields(c.args)...)...)
			require.NoError(t, err, screen)
			require.Equal(t, c.paged, strings.Contains(screen, "\n| "), screen)
			if name == "not started" {
				screen = strings.NewReplacer("\x1b[36m", "", "\x1b[0m", "").Replace(screen)
			}
			require.Contains(t, screen, c.shown)
			if name == "left early" {
				require.NotContains(t, screen, "mail-1\x1b")
			}
		})
	}
	screen, err := onTerminal(t, dir, []string{"TERM=xterm", mine}, "view", "mails.jsonl", "--limit", "0", "--id", "mail-1*")
	require.NoError(t, err)
	require.Contains(t, screen, "mail-19999")
	for name, score := range map[string]int{"before.jsonl": 0, "after.jsonl": 1} {
		var results strings.Builder
		for i := range 40 {
			fmt.Fprintf(&results, `{"id":"mail-%d","outcome":"scored","score":%d,"step_outputs":[],"metrics":{},"reason":"","fuel":1}`+"\n", i, score)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(results.String()), 0o644))
	}
	screen, err = onTerminal(t, dir, []string{"TERM=xterm", mine}, "reward", "diff", "before.jsonl", "after.jsonl", "--limit", "0")
	require.Contains(t, screen, "\n| ")
	exited := new(exec.ExitError)
	require.ErrorAs(t, err, &exited)
	require.Equal(t, 12, exited.ExitCode(), "the exit code is the command's, also in a pager")
}

// Promise: merit play shows a step at once when it is asked for, and Ctrl-C ends it while it waits
// for a person.
func TestPlayOnATerminal(t *testing.T) {
	testneeds.NotShort(t)
	b := newBench(t)
	b.screen("TERM=dumb")
	merit, err := exec.LookPath("merit")
	require.NoError(t, err)
	cmd := exec.Command(merit, "play", "--fork", "run", "test-trained-g0-m0", "-k", "4")
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "MERIT_PLUGINS="+filepath.Join(built.dir, "plugins"), "MERIT_CACHE="+filepath.Join(built.dir, "cache"))
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 100, Rows: 30})
	require.NoError(t, err)
	defer terminal.Close()
	var screen bytes.Buffer
	until := func(text string) {
		one := make([]byte, 1)
		for !strings.HasSuffix(screen.String(), text) {
			_, err := terminal.Read(one)
			require.NoError(t, err, screen.String())
			screen.Write(one)
		}
	}
	until("step 0 of ")
	until("\n> ")
	_, err = terminal.Write([]byte("1\n"))
	require.NoError(t, err)
	until("step 1 of ")
	until("\n> ")
	_, err = terminal.Write([]byte("up\n"))
	require.NoError(t, err)
	until("4 continuations after each action")
	until("\n> ")
	_, err = terminal.Write([]byte("\x03"))
	require.NoError(t, err)
	until("interrupted")
	var code *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &code)
	require.Equal(t, 130, code.ExitCode())
}
