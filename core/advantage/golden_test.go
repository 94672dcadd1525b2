package advantage_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

type goldenCase struct {
	Name          string
	Gamma, Omega  float64
	Normalization advantage.Normalization
	Epsilon       float64
	BaselineOver  advantage.Scope `json:"baseline_over"`
	Similarity    *float64
	Rows          []goldenRow
}

type goldenRow struct {
	Group, Trajectory string
	Step              int32
	Observation       string
	Reward            float64
	EpisodeScore      float64 `json:"episode_score"`
	Return            float64
	EpisodeAdvantage  float64 `json:"episode_advantage"`
	StepAdvantage     float64 `json:"step_advantage"`
	Advantage         float64
	AnchorGroup       int32 `json:"anchor_group"`
}

func readGolden(t *testing.T) []goldenCase {
	f, err := os.Open("testdata/gigpo.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	var cases []goldenCase
	for lines.Scan() {
		var c goldenCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		cases = append(cases, c)
	}
	require.NoError(t, lines.Err())
	return cases
}

func (c goldenCase) config() advantage.Config {
	cfg := advantage.Default()
	cfg.Gamma, cfg.Omega, cfg.Normalization, cfg.Epsilon = c.Gamma, c.Omega, c.Normalization, c.Epsilon
	cfg.BaselineOver, cfg.Singleton = c.BaselineOver, advantage.SingletonRaw
	if c.Similarity != nil {
		cfg.Similarity = *c.Similarity
	}
	return cfg
}

func (c goldenCase) rows() *advantage.Rows {
	var r advantage.Rows
	groups, trajectories := map[string]int32{}, map[[2]string]int32{}
	for _, x := range c.Rows {
		r.Group = append(r.Group, intern(groups, x.Group))
		r.Trajectory = append(r.Trajectory, intern(trajectories, [2]string{x.Group, x.Trajectory}))
		r.Step = append(r.Step, x.Step)
		r.Anchor = append(r.Anchor, x.Observation)
		r.Reward = append(r.Reward, x.Reward)
		r.Score = append(r.Score, x.EpisodeScore)
	}
	return &r
}

func intern[K comparable](ids map[K]int32, k K) int32 {
	id, ok := ids[k]
	if !ok {
		id = int32(len(ids))
		ids[k] = id
	}
	return id
}

// Promise: GiGPO gives what the public reference implementation gives.
func TestGolden(t *testing.T) {
	cases := readGolden(t)
	require.Len(t, cases, 24)
	var got advantage.Result // one for all: reused buffers leave no trace
	for _, c := range cases {
		require.NoError(t, advantage.Estimate(c.config(), c.rows(), &got), c.Name)
		for i, want := range c.Rows {
			requireClose(t, want.Return, got.Return[i], c.Name, i, "return")
			requireClose(t, want.EpisodeAdvantage, got.Episode[i], c.Name, i, "episode_advantage")
			requireClose(t, want.StepAdvantage, got.Step[i], c.Name, i, "step_advantage")
			requireClose(t, want.Advantage, got.Advantage[i], c.Name, i, "advantage")
			require.Equal(t, want.AnchorGroup, got.AnchorGroup[i], "%s row %d anchor_group", c.Name, i)
		}
	}
}

func requireClose(t *testing.T, want, got float64, name string, row int, field string) {
	t.Helper()
	require.LessOrEqual(t, math.Abs(got-want), 1e-4+1e-4*math.Abs(want), "%s row %d %s: got %v, want %v", name, row, field, got, want)
}
