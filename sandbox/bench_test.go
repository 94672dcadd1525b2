package sandbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/stretchr/testify/require"
)

// conversation is what the design's targets speak of: about 5 KB.
func conversation() *rl.Trajectory {
	text := func(n int) string {
		s := make([]byte, 0, n)
		for len(s) < n {
			s = append(s, "She sells the remainder at the farmers' market daily for $2 per egg. "...)
		}
		return string(s[:n])
	}
	return &rl.Trajectory{
		ID: "bench", Messages: []rl.Message{
			{Role: rl.RoleSystem, Content: rl.Text(text(600))},
			{Role: rl.RoleUser, Content: rl.Text(text(900))},
			{Role: rl.RoleAssistant, Content: rl.Text(text(800)), ToolCalls: []rl.ToolCall{
				{ID: "1", Type: "function", Function: rl.FunctionCall{Name: "calculate", Arguments: `{"expression": "16-3-4"}`}}}},
			{Role: rl.RoleTool, ToolCallID: "1", Content: rl.Text(text(700))},
			{Role: rl.RoleUser, Content: rl.Text(text(800))},
			{Role: rl.RoleAssistant, Content: rl.Text(text(1200) + "\n#### 18")},
		}, GroundTruth: []byte(`"18"`),
	}
}

func evaluations(b *testing.B, m *sandbox.Module) {
	ctx, t := context.Background(), conversation()
	require.Equal(b, reward.Scored, m.Evaluate(ctx, t).Outcome)
	b.ReportAllocs()
	for b.Loop() {
		m.Evaluate(ctx, t)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}

// One evaluation of a Go reward: encode, evaluate, restore.
func BenchmarkEvaluateGo(b *testing.B) {
	for _, mode := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Shared} {
		b.Run(string(mode), func(b *testing.B) {
			evaluations(b, load(b, newRuntime(b, func(c *sandbox.Config) { c.Isolation = mode }), goGuest(b, "examples/gsm8k")))
		})
	}
}

// The cost of the sandbox itself: a module that scores 1 without looking.
func BenchmarkEvaluateNothing(b *testing.B) {
	evaluations(b, load(b, newRuntime(b), guest{}.wasm()))
}

// The same Go reward on all processors.
func BenchmarkEvaluateGoParallel(b *testing.B) {
	m := load(b, newRuntime(b), goGuest(b, "examples/gsm8k"))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for t := conversation(); pb.Next(); {
			m.Evaluate(context.Background(), t)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}

// One call of a reward at a prefix of an episode of 25 steps: a reward that kept the state of a
// prefix could save at most the difference to the shortest one.
func BenchmarkPrefix(b *testing.B) {
	r := oneWorker(b)
	script, err := loadScript(b, r, "reward.py", "def reward(messages): return len(messages[-1]['content'])\n")
	require.NoError(b, err)
	for name, m := range map[string]*sandbox.Module{"go": load(b, r, goGuest(b, "examples/gsm8k")), "python": script} {
		for _, n := range []int{3, 27, 51} {
			x := &rl.Trajectory{ID: "prefix", GroundTruth: []byte(`"18"`)}
			for i := range n {
				x.Messages = append(x.Messages, rl.Message{Role: []string{rl.RoleUser, rl.RoleAssistant}[i%2], Content: rl.Text(strings.Repeat("######\n# @$ #\n", 4))})
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					require.Equal(b, reward.Scored, m.Evaluate(context.Background(), x).Outcome)
				}
			})
		}
	}
}

// The encoding of one conversation.
func BenchmarkEncode(b *testing.B) {
	e, t := abi.NewEncoder(8<<20), conversation()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Trajectory(t); err != nil {
			b.Fatal(err)
		}
	}
}

// Loading a 2 MB Go module: compiled, and from the cache on disk.
func BenchmarkLoad(b *testing.B) {
	wasm := goGuest(b, "examples/gsm8k")
	for _, cached := range []bool{false, true} {
		name := "cold"
		if cached {
			name = "cached"
		}
		b.Run(name, func(b *testing.B) {
			r := newRuntime(b, func(c *sandbox.Config) {
				if cached {
					c.CacheDir = b.TempDir()
				}
			})
			load(b, r, wasm).Close(context.Background())
			for b.Loop() {
				m := load(b, r, wasm)
				require.Equal(b, cached, m.Cached())
				m.Close(context.Background())
			}
		})
	}
}

// What a program costs that a reward in Python opens: nothing where it opens
// none, an instance from its snapshot, an empty program in it, and ten of these
// one after the other.
func BenchmarkProgram(b *testing.B) {
	r := newRuntime(b, func(c *sandbox.Config) { c.Workers, c.CacheDir = 1, cacheDir(b) })
	for name, body := range map[string]string{
		"none":             "return 1",
		"open/python":      "Program()\n    return 1",
		"open/javascript":  "Program('javascript')\n    return 1",
		"empty/python":     "return Program().ask(EMPTY, 1 << 40).outcome == 'answered'",
		"empty/javascript": "return Program('javascript').ask(EMPTY, 1 << 40).outcome == 'answered'",
		"ten/python":       "p = Program()\n    return all(p.ask(EMPTY, 1 << 40).outcome == 'answered' for i in range(10))",
	} {
		b.Run(name, func(b *testing.B) {
			m, err := loadScript(b, r, "reward.py", "import merit_reward._programs_sandbox\nfrom merit_reward._programs import Program\n"+
				"EMPTY = '{\"do\": \"run\", \"source\": \"\", \"input\": \"\"}'\ndef reward(messages):\n    "+body+"\n")
			require.NoError(b, err)
			evaluations(b, m)
		})
	}
}
