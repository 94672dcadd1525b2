package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// benchDir holds the conversation of 5 KB that the design's targets speak of.
const benchDir = "testdata/bench"

// fiveKB is that conversation.
func fiveKB(t testing.TB) *rl.Trajectory {
	data, err := os.ReadFile(filepath.Join(benchDir, "conversation.json"))
	require.NoError(t, err)
	x := new(rl.Trajectory)
	require.NoError(t, json.Unmarshal(data, x))
	return x
}

// conversation is one of any size.
func conversation(size int) *rl.Trajectory {
	filler := strings.Repeat("She sells the remainder at the farmers' market daily for $2 per egg. \n", size/70)
	return &rl.Trajectory{
		ID: "bench", GroundTruth: []byte(`"18"`), Messages: []rl.Message{
			{Role: rl.RoleSystem, Content: rl.Text(filler[:size/8])},
			{Role: rl.RoleUser, Content: rl.Text(filler[:size/4])},
			{Role: rl.RoleAssistant, Content: rl.Text(filler[:size/4]), ToolCalls: []rl.ToolCall{
				{ID: "1", Type: "function", Function: rl.FunctionCall{Name: "calculate", Arguments: `{"expression": "16-3-4"}`}}}},
			{Role: rl.RoleTool, ToolCallID: "1", Content: rl.Text(filler[:size/8])},
			{Role: rl.RoleAssistant, Content: rl.Text(filler[:size/4] + "\n#### 18")},
		},
	}
}

// answers are the languages that have the same reward.
func answers() []string {
	names := []string{"go", "js", "python"}
	for _, c := range toolchains() {
		names = append(names, c.language)
	}
	slices.Sort(names)
	return names
}

// answerFile returns the file that LoadFile takes for a language. Go is built,
// Python is its source.
func answerFile(b *testing.B, language string) string {
	switch language {
	case "python":
		testneeds.File(b, "run: merit python install", interpreter.Python().Path(interpreter.Folder()))
		return testneeds.File(b, "it is the example of sdk/python", filepath.Join(testneeds.Root(), "sdk/python/examples/answer.py"))
	case "js":
		testneeds.File(b, "run: merit js install", interpreter.JavaScript().Path(interpreter.Folder()))
		return testneeds.File(b, "it is the example of sdk/js", filepath.Join(testneeds.Root(), "sdk/js/examples/answer.js"))
	case "go":
		path := filepath.Join(b.TempDir(), "answer.wasm")
		require.NoError(b, os.WriteFile(path, buildGo(b, goPackages["answer"]), 0o600))
		return path
	}
	return filepath.Join(guestDir, language, "answer.wasm")
}

// loadAnswer loads the reward of a language and checks what it says of x.
func loadAnswer(b *testing.B, language string, x *rl.Trajectory, change ...func(*sandbox.Config)) (*sandbox.Module, reward.Evaluation) {
	m, err := newRuntime(b, change...).LoadFile(b.Context(), answerFile(b, language))
	require.NoError(b, err)
	e := m.Evaluate(b.Context(), x)
	require.Equal(b, reward.Scored, e.Outcome, e.Reason)
	require.Equal(b, 1.0, e.Result.Score)
	return m, e
}

// One evaluation in every language on one core: encode, evaluate with the
// meter on, take the result, restore. The percentiles are over single
// evaluations, each with its restore.
func BenchmarkReward(b *testing.B) {
	x := fiveKB(b)
	for _, language := range answers() {
		b.Run(language, func(b *testing.B) {
			m, e := loadAnswer(b, language, x)
			took := make([]time.Duration, 0, 1<<20)
			last := time.Now()
			for b.Loop() {
				m.Evaluate(context.Background(), x)
				if now := time.Now(); len(took) < cap(took) {
					took = append(took, now.Sub(last))
					last = now
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
			b.ReportMetric(float64(e.Fuel), "fuel")
		})
	}
}

// Inputs of 200 KB outgrow what the guests took while they warmed up, so each
// evaluation grows the memory.
func BenchmarkLargeInput(b *testing.B) {
	x := conversation(200_000)
	for _, language := range answers() {
		b.Run(language, func(b *testing.B) {
			m, _ := loadAnswer(b, language, x)
			for b.Loop() {
				m.Evaluate(context.Background(), x)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
		})
	}
}

// Two workers against one, in turns, so that both see the same machine.
func BenchmarkTwoCores(b *testing.B) {
	x := fiveKB(b)
	for _, language := range []string{"c", "go"} {
		b.Run(language, func(b *testing.B) {
			m, _ := loadAnswer(b, language, x, func(c *sandbox.Config) { c.Workers = 2 })
			const round = 5000
			var took [3]time.Duration
			for b.Loop() {
				for _, workers := range []int{1, 2} {
					begin := time.Now()
					var group sync.WaitGroup
					for range workers {
						group.Go(func() {
							for range round {
								m.Evaluate(context.Background(), x)
							}
						})
					}
					group.Wait()
					took[workers] += time.Since(begin)
				}
			}
			b.ReportMetric(2*took[1].Seconds()/took[2].Seconds(), "speed-up")
			b.ReportMetric(2*round*float64(b.N)/took[2].Seconds(), "evaluations/s")
		})
	}
}

// Loading: the gate, the meter, the compiler, the warm-up and the snapshot;
// and the second time, with native code from the disk.
func BenchmarkLoad(b *testing.B) {
	for _, language := range answers() {
		for _, cached := range []bool{false, true} {
			name := map[bool]string{false: "/cold", true: "/cached"}[cached]
			b.Run(language+name, func(b *testing.B) {
				path, dir := answerFile(b, language), b.TempDir()
				r := newRuntime(b, func(c *sandbox.Config) {
					if cached {
						c.CacheDir = dir
					}
				})
				get := func() *sandbox.Module {
					m, err := r.LoadFile(b.Context(), path)
					require.NoError(b, err)
					return m
				}
				if cached {
					get().Close(b.Context())
				}
				for b.Loop() {
					m := get()
					require.Equal(b, cached, m.Cached())
					m.Close(b.Context())
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/load")
			})
		}
	}
}

// Loading a script that was changed: the interpreter comes from the cache, and
// the script is started for the first time.
func BenchmarkLoadChanged(b *testing.B) {
	for _, language := range []string{"python", "js"} {
		b.Run(language, func(b *testing.B) {
			path, dir := answerFile(b, language), b.TempDir()
			text, err := os.ReadFile(path)
			require.NoError(b, err)
			comment := map[string]string{"python": "#", "js": "//"}[language]
			path = filepath.Join(b.TempDir(), filepath.Base(path))
			r := newRuntime(b, func(c *sandbox.Config) { c.CacheDir = dir })
			get := func(n int) {
				require.NoError(b, os.WriteFile(path, fmt.Appendf(text, "\n%s %d\n", comment, n), 0o600))
				m, err := r.LoadFile(b.Context(), path)
				require.NoError(b, err)
				m.Close(b.Context())
			}
			get(-1)
			for n := 0; b.Loop(); n++ {
				get(n)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/load")
		})
	}
}

// The same reward in the machine's own Python, without a sandbox: as a call
// with the conversation at hand, and with JSON on both sides as a program
// outside of Python needs it. The interpreter takes its own time.
func BenchmarkPythonInProcess(b *testing.B) {
	python := testneeds.Python(b)
	cmd := exec.Command(python, "-B", filepath.Join(benchDir, "inprocess.py"), filepath.Join(benchDir, "conversation.json"))
	sdk := filepath.Join(testneeds.Root(), "sdk", "python")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+sdk+string(os.PathListSeparator)+filepath.Join(sdk, "examples"))
	out, err := cmd.Output()
	require.NoError(b, err)
	for i, name := range []string{"call", "json"} {
		b.Run(name, func(b *testing.B) {
			ns, err := strconv.ParseFloat(string(bytes.Fields(out)[i]), 64)
			require.NoError(b, err)
			for b.Loop() { // nothing: measured above
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1e9/ns, "evaluations/s")
		})
	}
}
