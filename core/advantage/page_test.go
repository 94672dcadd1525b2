package advantage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: the advantages that docs/credit-assignment.md shows for its example
// are those that the estimators compute, and no estimator is missing.
func TestPageShowsEveryEstimator(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testneeds.Root(), "docs", "credit-assignment.md"))
	require.NoError(t, err)
	// Three trajectories of one group: a solves in two steps, b dawdles, c fails;
	// d has no score.
	rows := &advantage.Rows{
		Group:      []int32{0, 0, 0, 0, 0, 0, 0, 0},
		Trajectory: []int32{0, 0, 1, 1, 1, 2, 2, 3},
		Step:       []int32{0, 1, 0, 1, 2, 0, 1, 0},
		Reward:     []float64{0, 1, 0, 0, 1, 0, 0, 0},
		Score:      []float64{1, 1, 1, 1, 1, 0, 0, 0},
		Anchor:     []string{"hall", "door", "hall", "hall", "door", "hall", "door", "hall"},
		Scored:     []bool{true, true, true, true, true, true, true, false},
		Value:      []float64{0.5, 0.75, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5},
		Role:       []string{"guest", "guest", "guest", "guest", "guest", "guest", "guest", "guest"},
		Greedy:     []float64{1, 1, 1, 1, 1, 1, 1, 1},
	}
	copy(rows.AddReward("arrived", 0.8), []float64{1, 1, 1, 1, 1, 0, 0, 0})
	copy(rows.AddReward("quick", 0.2), []float64{1, 1, 0, 0, 0, 0, 0, 0})
	settings := map[string]func(*advantage.Config){
		"grpo, mean_std_norm":     func(c *advantage.Config) { c.Estimator, c.Normalization = "grpo", advantage.MeanStdNorm },
		"gigpo, mean_std_norm":    func(c *advantage.Config) { c.Estimator, c.Normalization = "gigpo", advantage.MeanStdNorm },
		"graphgpo, episode batch": func(c *advantage.Config) { c.Estimator, c.Episode = "graphgpo", "batch" },
		"gigpo, omega 0":          func(c *advantage.Config) { c.Estimator, c.Omega = "gigpo", 0 },
	}
	for _, name := range advantage.Names() {
		settings[name] = func(c *advantage.Config) { c.Estimator = name }
	}
	for name, set := range settings {
		requireLine(t, string(page), name, 0.5, set, rows)
	}
	for _, name := range []string{"grpo", "rloo", "reinforce_pp", "gigpo", "tree", "vine", "counterfactual"} {
		requireLine(t, string(page), name, 1, func(c *advantage.Config) { c.Estimator = name }, fork())
	}
}

// requireLine requires the advantages of rows as a line of the page.
func requireLine(t *testing.T, page, name string, gamma float64, set func(*advantage.Config), rows *advantage.Rows) {
	t.Helper()
	cfg := advantage.Default()
	cfg.Gamma = gamma
	set(&cfg)
	var got advantage.Result
	require.NoError(t, advantage.Estimate(cfg, rows, &got))
	line := "| `" + strings.Replace(name, ", ", "`, `", 1) + "` |"
	for i, a := range got.Advantage {
		if rows.BranchOf != nil && got.Weight[i] == 0 {
			line += " |"
			continue
		}
		line += " " + strings.Replace(fmt.Sprintf("%.3f", a), "-0.000", "0.000", 1) + " |"
	}
	if !strings.Contains(page, line+"\n") {
		t.Errorf("docs/credit-assignment.md lacks\n%s", line)
	}
}
