package keptgraph_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/keptgraph"
)

// Promise: updates in sequence give what another implementation gives, written in Python from
// the description: with graphs that forget, and after every save and restore.
func TestOtherImplementation(t *testing.T) {
	f, err := os.Open("testdata/tigpo.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines, cases, used := bufio.NewScanner(f), 0, 0
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); cases++ {
		var c struct {
			Omega         float64
			Std           bool
			Distance      string
			DistanceDecay float64 `json:"distance_decay"`
			KeptEdges     int     `json:"kept_edges"`
			Updates       [][][]struct {
				States    string
				Score     float64
				Truncated bool
			}
			Advantages [][][][]float64
			Kept       []int
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		cfg := config(c.KeptEdges)
		cfg.Omega, cfg.Distance, cfg.DistanceDecay = c.Omega, c.Distance, c.DistanceDecay
		if c.Std {
			cfg.Normalization = advantage.MeanStdNorm
		}
		g := keptgraph.New(cfg)
		for n, update := range c.Updates {
			rows, want, trajectory := new(advantage.Rows), []float64(nil), int32(0)
			for k, members := range update {
				for m, e := range members {
					for i, state := range e.States {
						rows.Group, rows.Trajectory, rows.Step = append(rows.Group, int32(k)), append(rows.Trajectory, trajectory), append(rows.Step, int32(i))
						rows.Anchor, rows.Reward, rows.Score = append(rows.Anchor, string(state)), append(rows.Reward, 0), append(rows.Score, e.Score)
						rows.Truncated = append(rows.Truncated, e.Truncated && i == len(e.States)-1)
					}
					want = append(want, c.Advantages[n][k][m]...)
					trajectory++
				}
			}
			g.Reach(rows, nil)
			for _, steps := range rows.KeptSteps {
				used += int(min(steps, 1))
			}
			var d advantage.Result
			require.NoError(t, advantage.Estimate(cfg, rows, &d))
			require.InDeltaSlice(t, want, d.Advantage, 1e-6, "case %d update %d", cases, n+1)
			g.Add(rows, nil)
			require.Equal(t, c.Kept[n], g.Reach(rows, nil).Edges, "case %d update %d", cases, n+1)
			saved := g.Bytes()
			g = keptgraph.New(cfg)
			require.NoError(t, g.Restore(saved))
		}
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 24, cases)
	require.Greater(t, used, 200)
}
