package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/merit-rl/merit/cmd/merit/internal/cli"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts run the real command in processes of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"merit": func() { os.Exit(cli.Main()) }})
}

// Promise: every command of the README and every kind of bad input does what
// its script says.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits is `exits CODE command args…`: the command must end with that exit
// code. stdout and stderr can be looked at as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, expected %d", code, want)
	}
}
