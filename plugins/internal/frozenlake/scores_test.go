package frozenlake

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/plugins/internal/frozenlake/internal/lake"
	"github.com/merit-rl/merit/sdk/plugin"
)

// planner returns players who move as lake.Plan does on slippery ice: each for
// one episode of so many steps at most.
func planner(t *testing.T, steps int) func() func(string, []byte) int {
	plans := map[string]*lake.Values{}
	return func() func(string, []byte) int {
		left := steps + 1
		return func(anchor string, _ []byte) int {
			at := strings.IndexByte(strings.ReplaceAll(anchor, "\n", ""), '@')
			if !strings.Contains(anchor, "S") { // the player stands on the start
				anchor = strings.Replace(anchor, "@", "S", 1)
			}
			rows := strings.ReplaceAll(anchor, "@", "F")
			if plans[rows] == nil {
				l, wrong := lake.Parse(strings.Fields(rows))
				require.Empty(t, wrong)
				plans[rows] = l.Plan(steps, true)
			}
			left--
			return int(plans[rows].Best(at, left))
		}
	}
}

// Promise: the README's scores are what its players make of the test split: the
// same to the last digit on every machine. What the best player makes of the
// lakes is what value iteration says that it can expect.
func TestScores(t *testing.T) {
	readme, err := os.ReadFile("../../frozenlake/README.md")
	require.NoError(t, err)
	for name, options := range map[string]string{"slippery": `{}`, "Gymnasium's 4x4": `{"map": "4x4"}`} {
		random := envtest.Random()
		guess := score(t, options, func() func(string, []byte) int { return random })
		best := score(t, options, planner(t, defaults().MaxSteps))
		require.InDelta(t, best.optimal, best.success, 0.035, "three deviations")
		require.Contains(t, string(readme), fmt.Sprintf("| %s | %s | %s | %.1f %% |", name, guess, best, 100*best.optimal))
	}
}

// scores are shares of episodes.
type scores struct{ success, fell, optimal float64 }

// played is the number of episodes.
const played = 2000

// String gives the success with its interval, in percent.
func (s scores) String() string {
	low, high := stats.Wilson(int(s.success*played+0.5), played)
	return fmt.Sprintf("%.1f %% [%.1f, %.1f], %.1f %% fell", 100*s.success, 100*low, 100*high, 100*s.fell)
}

func score(t *testing.T, options string, player func() func(string, []byte) int) (s scores) {
	for _, e := range envtest.PlayEach(t, open(t, 16, plugin.Test, options), played, player) {
		s.success += e.Return / played
		s.fell += e.Metrics["fell"] / played
		s.optimal += e.Metrics["optimal_success"] / played
	}
	return s
}
