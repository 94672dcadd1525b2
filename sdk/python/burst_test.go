package python_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// BenchmarkBurst scores conversations of 5 KB that come at once, as the end of
// a rollout gives them, through the Python client and a private server; and
// with the function that examples/answer.py holds called by itself, as trainers
// call one: in their own process, and in a pool of two with a time-out. Objects
// in Python in, numbers out. That math-verify is there is not asked for:
// bench/burst.py measures with it, too.
func BenchmarkBurst(b *testing.B) {
	python := testneeds.Python(b)
	testneeds.File(b, "run: merit python install", interpreter.Python().Path(interpreter.Folder()))
	merit := testneeds.File(b, "run: make build", filepath.Join(testneeds.Root(), "bin", "merit"))
	module := testneeds.File(b, "run: make build", filepath.Join(testneeds.Root(), "examples", "gsm8k", "reward.wasm"))
	for _, way := range []struct {
		name, what string
		n          int
	}{
		{"go", module, 16384},
		{"go-65536", module, 65536},
		{"python", filepath.Join("examples", "answer.py"), 16384},
		{"inprocess", "inprocess", 16384},
		{"pool", "pool", 16384},
	} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(python, "-B", filepath.Join("bench", "burst.py"), way.what, "--rounds", "1", "--n", fmt.Sprint(way.n))
				cmd.Env = append(os.Environ(), "MERIT_BINARY="+merit, "MERIT_SERVER=", "MERIT_PRIVATE_SERVER=")
				var log strings.Builder // beside the figures, it would make them unreadable
				cmd.Stderr = &log
				text, err := cmd.Output()
				require.NoError(b, err, log.String())
				var said map[string]float64
				require.NoError(b, json.Unmarshal(text, &said))
				for unit, value := range said {
					b.ReportMetric(value, unit)
				}
			}
		})
	}
}
