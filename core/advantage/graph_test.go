package advantage_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// otherCase is a batch with the advantages that testdata/graphs.py found.
type otherCase struct {
	Estimator            string
	Gamma, Lambda, Omega float64
	Std                  bool
	SuccessScore         float64 `json:"success_score"`
	DistanceDecay        float64 `json:"distance_decay"`
	Distance             string
	Episode              string
	Groups               [][]struct {
		States    []string
		Rewards   []float64
		Score     float64
		Truncated bool
		Roles     []string
		Greedy    float64
		Judged    map[string]float64
		Values    []float64
		Scored    *bool // nil = true
		Of        *int32
		At        int32
		LogProbs  []float64 `json:"log_probs"`
	}
	BaselineOver advantage.Scope `json:"baseline_over"`
	Weights      map[string]float64
	Advantages   [][][]float64
	RowWeights   [][][]float64 `json:"weights_of_rows"` // nil = not computed
}

func (c *otherCase) config() advantage.Config {
	cfg := named(c.Estimator)
	cfg.Gamma, cfg.Lambda, cfg.Omega = c.Gamma, c.Lambda, c.Omega
	cfg.SuccessScore, cfg.DistanceDecay, cfg.Distance = c.SuccessScore, c.DistanceDecay, c.Distance
	cfg.Episode = c.Episode
	cfg.BaselineOver = cmp.Or(c.BaselineOver, cfg.BaselineOver)
	if c.Std {
		cfg.Normalization = advantage.MeanStdNorm
	}
	return cfg
}

func (c *otherCase) rows() (*advantage.Rows, []float64) {
	r, want, trajectory := new(advantage.Rows), []float64(nil), int32(0)
	var judged []map[string]float64
	for g, group := range c.Groups {
		first := trajectory
		for p, path := range group {
			for t, state := range path.States {
				r.Group, r.Trajectory, r.Step = append(r.Group, int32(g)), append(r.Trajectory, trajectory), append(r.Step, int32(t))
				r.Anchor, r.Reward, r.Score = append(r.Anchor, state), append(r.Reward, path.Rewards[t]), append(r.Score, path.Score)
				r.Truncated = append(r.Truncated, path.Truncated && t == len(path.States)-1)
				want = append(want, c.Advantages[g][p][t])
				judged = append(judged, path.Judged)
				if path.Scored != nil {
					of := int32(-1)
					if path.Of != nil {
						of = first + *path.Of
					}
					r.BranchOf, r.BranchAt = append(r.BranchOf, of), append(r.BranchAt, path.At)
					r.Scored, r.LogProb = append(r.Scored, *path.Scored), append(r.LogProb, path.LogProbs[t])
				}
				if path.Values != nil {
					r.Value = append(r.Value, path.Values[t])
				}
				if path.Roles != nil {
					r.Role, r.Greedy = append(r.Role, path.Roles[t]), append(r.Greedy, path.Greedy)
				}
			}
			trajectory++
		}
	}
	for name, weight := range c.Weights {
		for i, score := 0, r.AddReward(name, weight); i < len(score); i++ {
			if x, ok := judged[i][name]; ok {
				score[i] = x
			}
		}
	}
	return r, want
}

// Promise: the estimators give what another implementation, written from their formulas in
// another language, gives. docs/credit-assignment.md lists all of them.
func TestOtherImplementation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testneeds.Root(), "docs", "credit-assignment.md"))
	require.NoError(t, err)
	for name, n := range compareWith(t, "graphs.jsonl") {
		require.Regexp(t, fmt.Sprintf("(?m)^\\| `%s` \\| arXiv .*graphs.jsonl`.*, %d( .*)?\\|", name, n), string(page))
	}
	branched := compareWith(t, "branches.jsonl")
	for _, name := range advantage.Names() {
		require.Equal(t, 8, branched[name], name)
		require.Regexp(t, fmt.Sprintf("(?m)^\\| `%s` \\| .*\\|$", name), string(page))
	}
}

// compareWith estimates the batches of a golden file and counts them by estimator.
func compareWith(t *testing.T, file string) map[string]int {
	f, err := os.Open(filepath.Join("testdata", file))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	seen := map[string]int{}
	var got advantage.Result // one for all: reused buffers leave no trace
	for lines.Scan() {
		var c otherCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		rows, want := c.rows()
		require.NoError(t, advantage.Estimate(c.config(), rows, &got))
		require.InDeltaSlice(t, want, got.Advantage, 1e-6, "%s %d", c.Estimator, seen[c.Estimator])
		for row, g := 0, 0; g < len(c.RowWeights); g++ {
			for _, weights := range c.RowWeights[g] {
				require.InDeltaSlice(t, weights, got.Weight[row:row+len(weights)], 1e-6, c.Estimator)
				row += len(weights)
			}
		}
		seen[c.Estimator]++
	}
	require.NoError(t, lines.Err())
	return seen
}

// maze is one group. Member 0 goes a b and succeeds, 1 goes a c a b and is cut off, 2 goes c
// d and fails.
func maze() *advantage.Rows {
	return &advantage.Rows{
		Group: make([]int32, 8), Trajectory: []int32{0, 0, 1, 1, 1, 1, 2, 2}, Step: []int32{0, 1, 0, 1, 2, 3, 0, 1},
		Anchor: []string{"a", "b", "a", "c", "a", "b", "c", "d"},
		Reward: []float64{0, 1, 0, 0, 0, 0, 0, 0}, Score: []float64{1, 1, 0, 0, 0, 0, 0, 0},
	}
}

// Promise: GraphGPO by hand. A state without a way to the success is one step further than
// the furthest with one, and an episode that failed gets credit for its steps in the right
// direction.
func TestGraphGPO(t *testing.T) {
	cfg := named("graphgpo")
	got := estimate(t, cfg, maze())
	// Distances: b 1, a 2, c 3, and d, which leads nowhere, 4.
	require.Equal(t, []int32{1, 0, 3, 2, 1, 4, 4, 4}, got.Distance)
	require.InDeltaSlice(t, []float64{1, 10, 0.01, 0.1, 1, 0.001, 0.001, 0.001}, got.Next, tolerance)
	// From a: 1, 0.01 and 1; from b: 10 and 0.001; from c: 0.1 and 0.001; from d: alone.
	third := 0.99 / 3
	std := 0.99 / 1.7320508075688772
	require.InDeltaSlice(t, []float64{
		third / (std + 1e-6), 0.70710678, -2 * third / (std + 1e-6), 0.70710678, third / (std + 1e-6), -0.70710678, -0.70710678, 0,
	}, got.Step, 2e-5)
	for i, e := range got.Episode {
		require.InDelta(t, e+got.Step[i], got.Advantage[i], tolerance)
	}
	cfg.Distance = "progress"
	require.InDeltaSlice(t, []float64{10, 10, 0.1, 10, 10, 0.001, 0.1, 1}, estimate(t, cfg, maze()).Next, tolerance)
}

// Promise: without a success in the group nothing can be compared, so GraphGPO is GRPO; a
// truncated trajectory did not succeed, whatever its score.
func TestGraphGPOWithoutSuccess(t *testing.T) {
	rows := maze()
	rows.Truncated = []bool{false, true, false, false, false, true, false, false}
	got := estimate(t, named("graphgpo"), rows)
	require.Equal(t, make([]float64, 8), got.Step)
	require.Equal(t, estimate(t, named("grpo"), rows).Advantage, got.Advantage)
}

// Promise: G2PO by hand.
func TestG2PO(t *testing.T) {
	cfg := named("g2po")
	cfg.Gamma = 0.5
	got := estimate(t, cfg, maze())
	// Visits: a 0.25, 0, 0; b 0.5, 0; c 0, 0; d 0.
	a, b := 0.25/3, 0.25
	require.InDeltaSlice(t, []float64{a, b, a, 0, a, b, 0, 0}, got.Value, tolerance)
	require.InDeltaSlice(t, []float64{b, 1, 0, a, b, 0, 0, 0}, got.Next, tolerance)
	gain := (b - a + 1 - b - a + a + b - a - b) / 8
	require.InDelta(t, (b-2*b/3)+(b-a-gain), got.Step[0], tolerance)
	require.InDelta(t, 0.5+(1-b-gain), got.Step[1], tolerance)
	require.InDelta(t, -gain, got.Step[7], tolerance) // alone in d
}

// Promise: GAGPO by hand, with λ = 0: the error of one step.
func TestGAGPO(t *testing.T) {
	cfg := named("gagpo")
	cfg.Gamma, cfg.Lambda = 0.5, 0
	got := estimate(t, cfg, maze())
	// Returns: a 0.5, 0, 0; b 1, 0; c and d 0.
	a, b := 0.5/3, 0.5
	require.InDeltaSlice(t, []float64{b/2 - a, 1 - b, -a, a / 2, b/2 - a, -b, 0, 0}, got.Step, tolerance)
	mean := 0.0
	for _, x := range got.Step {
		mean += x / 8
	}
	for i, x := range got.Step {
		require.InDelta(t, x-mean, got.Advantage[i], tolerance)
	}
}

// Promise: the estimators of outcomes by hand, for scores 4, 1 and 1 and lengths 1, 1 and 2.
func TestOutcomes(t *testing.T) {
	rows := &advantage.Rows{
		Group: make([]int32, 4), Trajectory: []int32{0, 1, 2, 2}, Step: []int32{0, 0, 0, 1},
		Reward: make([]float64, 4), Score: []float64{4, 1, 1, 1},
	}
	for name, want := range map[string][]float64{
		"opo":        {2.25, -0.75, -0.75, -0.75},
		"maxrl":      {1, -0.5, -0.5, -0.5},
		"grpo_passk": {3, 0, 0, 0},
	} {
		require.InDeltaSlice(t, want, estimate(t, named(name), rows).Advantage, tolerance, name)
	}
	rows.Score = []float64{4, 4, 1, 1}
	require.Equal(t, make([]float64, 4), estimate(t, named("grpo_passk"), rows).Advantage)
	rows.Score = make([]float64, 4)
	require.Equal(t, make([]float64, 4), estimate(t, named("maxrl"), rows).Advantage)
}

// Promise: MaxRL refuses a negative score, for which it means nothing.
func TestMaxRLNegative(t *testing.T) {
	rows := maze()
	rows.Score[0], rows.Score[1] = -1, -1
	err := advantage.Estimate(named("maxrl"), rows, new(advantage.Result))
	require.ErrorContains(t, err, "row 0: episode score is -1, and maxrl takes scores of 0 or more")
}
