package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

type goldenCase struct {
	Name          string            `json:"name"`
	Gamma         float64           `json:"gamma"`
	Omega         float64           `json:"omega"`
	Normalization string            `json:"normalization"`
	BaselineOver  string            `json:"baseline_over"`
	Similarity    float64           `json:"similarity"`
	Rows          []json.RawMessage `json:"rows"`
}

type credit struct {
	Return           float64 `json:"return"`
	EpisodeAdvantage float64 `json:"episode_advantage"`
	StepAdvantage    float64 `json:"step_advantage"`
	Advantage        float64 `json:"advantage"`
	AnchorGroup      int     `json:"anchor_group"`
}

// Promise: merit advantages computes the numbers of GiGPO's reference implementation
// for every golden case, through files and flags.
func TestAdvantagesMatchGolden(t *testing.T) {
	file, err := os.Open(testneeds.Shared(t, "golden", "gigpo.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	cases := bufio.NewScanner(file)
	cases.Buffer(nil, 1<<20)
	count := 0
	for cases.Scan() {
		var g goldenCase
		require.NoError(t, json.Unmarshal(cases.Bytes(), &g))
		t.Run(g.Name, func(t *testing.T) { g.check(t) })
		count++
	}
	require.Equal(t, 24, count)
}

func (g goldenCase) check(t *testing.T) {
	c := newConsole()
	c.Stdin = bytes.NewReader(bytes.Join(bytesOf(g.Rows), []byte("\n")))
	code := c.Run(context.Background(), []string{
		"advantages", "--in", "-", "--out", "-", "--estimator", "gigpo", "--singleton", "raw",
		"--gamma", fmt.Sprint(g.Gamma), "--omega", fmt.Sprint(g.Omega), "--similarity", fmt.Sprint(g.Similarity),
		"--normalization", g.Normalization, "--baseline-over", g.BaselineOver,
	})
	require.Zero(t, code, c.err.String())
	got := strings.Split(strings.TrimSpace(c.out.String()), "\n")
	require.Len(t, got, len(g.Rows))
	for i, line := range got {
		var want, have credit
		require.NoError(t, json.Unmarshal(g.Rows[i], &want))
		require.NoError(t, json.Unmarshal([]byte(line), &have))
		require.Equal(t, want.AnchorGroup, have.AnchorGroup, "row %d", i)
		for _, pair := range [][2]float64{
			{want.Return, have.Return}, {want.EpisodeAdvantage, have.EpisodeAdvantage},
			{want.StepAdvantage, have.StepAdvantage}, {want.Advantage, have.Advantage},
		} {
			require.InDelta(t, pair[0], pair[1], 1e-4+1e-4*max(pair[0], -pair[0]), "row %d", i)
		}
	}
}

func bytesOf(rows []json.RawMessage) [][]byte {
	var out [][]byte
	for _, r := range rows {
		out = append(out, r)
	}
	return out
}
