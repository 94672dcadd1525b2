package testneeds

import (
	"flag"
	"os"
	"testing"
)

// SlowVariable is the environment variable that lets slow tests run: make
// test-full sets it. Full implies it.
const SlowVariable = "MERIT_SLOW"

// Slow skips a test in make check and make test; only make test-full and CI run
// it. A test is slow if it takes seconds of a CPU, or needs a program other than
// Go and Python. What says why, in a few words: "starts three clusters".
// Benchmarks are never skipped.
func Slow(t testing.TB, what string) {
	t.Helper()
	NotShort(t)
	if _, bench := t.(*testing.B); !bench && !All() {
		t.Skip("slow: " + what + "; make test-full runs it")
	}
}

// NotShort skips a test in make check, which is go test -short: a test that takes
// more than a few milliseconds, starts a process, or compiles WebAssembly.
func NotShort(t testing.TB) {
	t.Helper()
	if _, bench := t.(*testing.B); !bench && testing.Short() {
		t.Skip("not in make check; make test runs it")
	}
}

// Short reports whether this is make check, for what a package prepares before
// its tests, when testing.Short does not know yet.
func Short() bool {
	if !flag.Parsed() {
		flag.Parse()
	}
	return testing.Short()
}

// All reports whether slow tests run, for a test that has quick and slow parts.
func All() bool { return os.Getenv(SlowVariable) == "1" || os.Getenv(Full) == "1" }
