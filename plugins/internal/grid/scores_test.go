package grid

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/sdk/plugin"
)

// straight walks the way that is left, north or south first.
func straight(t *testing.T) func(string, []byte) int {
	return func(anchor string, _ []byte) int {
		var from, to struct {
			column rune
			row    int
		}
		_, err := fmt.Sscanf(anchor, "%c%d to %c%d", &from.column, &from.row, &to.column, &to.row)
		require.NoError(t, err)
		switch {
		case to.row > from.row:
			return 0
		case to.row < from.row:
			return 2
		case to.column > from.column:
			return 1
		}
		return 3
	}
}

// Promise: the README's scores are what its players make of the test split: the
// same to the last digit on every machine.
func TestScores(t *testing.T) {
	readme, err := os.ReadFile("../../grid/README.md")
	require.NoError(t, err)
	for name, options := range map[string]string{"as it comes": `{}`, "far": `{"size": 8, "distance": [4, 14], "max_steps": 20}`} {
		share := func(choose func(string, []byte) int) string {
			const n = 1000
			e, err := Definition().Open(plugin.Setup{Slots: 16, Split: plugin.Test}, json.RawMessage(options))
			require.NoError(t, err)
			defer e.Close()
			there := 0
			for _, episode := range envtest.Play(t, e, n, choose) {
				there += int(episode.Return)
			}
			low, high := stats.Wilson(there, n)
			return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*float64(there)/n, 100*low, 100*high)
		}
		require.Contains(t, string(readme), fmt.Sprintf("| %s | %s | %s |", name, share(envtest.Random()), share(straight(t))))
	}
}
