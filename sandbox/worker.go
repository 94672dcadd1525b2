package sandbox

import (
	"fmt"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/remote"
)

// WorkerArgument is the one argument with which a program starts itself as a
// worker process of isolation: process.
const WorkerArgument = "merit-sandbox-worker"

// IsWorker reports whether a program was started as a worker process. It must
// then call WorkerMain and do nothing else:
//
//	if sandbox.IsWorker(os.Args) {
//		os.Exit(sandbox.WorkerMain())
//	}
func IsWorker(args []string) bool { return len(args) == 2 && args[1] == WorkerArgument }

var errWorker = &fault.Error{
	Boundary: fault.Sandbox, Kind: fault.Refused, Where: "sandbox.isolation", What: "this process was started as a worker, but its program does not call sandbox.WorkerMain",
	Hint: "call sandbox.WorkerMain first in main when sandbox.IsWorker(os.Args)",
}

// WorkerMain serves evaluations from standard input until the input ends, and
// returns the exit code. No other part of the program may run at the same time.
func WorkerMain() int {
	if err := remote.Serve(os.Stdin, os.Stdout, chosen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
