package sandbox_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/cputime"
	"github.com/merit-rl/merit/sandbox"
)

// What a problem of code costs, with a trivial solution: 1, 10 and 40 tests of each form.
func BenchmarkCode(b *testing.B) {
	r := newRuntime(b, func(c *sandbox.Config) { c.Workers, c.CacheDir = 1, cacheDir(b) })
	for form, tests := range map[string]string{
		"check":      `"def check(candidate):\n" + "".join(f"    assert candidate({k}, 5) == {k + 5}\n" for k in range(N))`,
		"statements": `[f"assert add({k}, 5) == {k + 5}" for k in range(N)]`,
		"call":       `[{"call": [k, 5], "returns": k + 5} for k in range(N)]`,
		"class":      `[{"call": [[k], 5], "returns": k + 5} for k in range(N)]`,
		"program":    `[{"input": f"{k} 5\n", "output": f"{k + 5}\n"} for k in range(N)]`,
	} {
		source := `def add(a, b):\n    return a + b\n`
		switch form {
		case "class":
			source = `class Solution:\n    def add(self, a: List[int], b: int) -> int:\n        return a[0] + b\n`
		case "program":
			source = `a, b = map(int, input().split())\nprint(a + b)\n`
		}
		for _, n := range []int{1, 10, 40} {
			b.Run(fmt.Sprintf("%s/%d", form, n), func(b *testing.B) {
				m, err := loadScript(b, r, "reward.py", fmt.Sprintf("from merit_reward import code\nN = %d\nTESTS = %s\ndef reward(messages):\n"+
					"    return code.run('%s', TESTS, entry_point='add', preamble=True).passed == %s\n", n, tests, source, map[bool]string{true: "1", false: "N"}[form == "check"]))
				require.NoError(b, err)
				fuel, cpu := m.Evaluate(b.Context(), conversation()).Fuel, cputime.Seconds()
				evaluations(b, m)
				b.ReportMetric(float64(fuel), "fuel")
				b.ReportMetric(1e3*(cputime.Seconds()-cpu)/float64(b.N+1), "CPU-ms/problem")
			})
		}
	}
}
