package conformance_test

import (
	"os"
	"testing"

	"github.com/merit-rl/merit/sandbox"
)

// TestMain lets the test binary be a worker process of isolation: process.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	os.Exit(m.Run())
}
