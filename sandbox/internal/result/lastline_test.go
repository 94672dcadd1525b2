package result

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/limits"
)

// Promise: the last line with text is the result however much is printed before it, in whatever pieces; only that line may be
// too long, and what stands before it is the log, of which the end is cut.
func TestLastLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	long := strings.Repeat("x", 3<<10)
	for text, want := range map[string]string{
		"": "", "a": "a", "a\n": "a", "a\nb\n\n \n": "b", "a\n\n b": "b",
		strings.Repeat("line\n", 1000) + "end\n": "end", long + "\nend": "end", "end" + strings.Repeat("\n", 3<<10): "end",
		long + "\n\n" + long + "\nend\n": "end", long: "long", "a\n" + long + "\n \n": "long",
	} {
		for range 20 {
			c := NewCollector(limits.Limits{OutputKiB: 1, LogKiB: 1}, reward.StepIndexing(""))
			c.Start(nil, false)
			c.CaptureLast()
			for rest := text; rest != ""; {
				n := min(len(rest), 1+random.IntN(700))
				require.NoError(t, c.Output(1, []byte(rest[:n])))
				rest = rest[n:]
				require.LessOrEqual(t, len(c.stdout), 2<<10)
			}
			line, verdict := c.LastLine()
			if want == "long" {
				require.Equal(t, reward.OutputLimit, verdict.Outcome)
				continue
			}
			require.Nil(t, verdict)
			require.Equal(t, want, string(line))
			require.True(t, strings.HasPrefix(text, string(c.log)), "%q", c.log)
		}
	}
}
