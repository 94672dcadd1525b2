package advantage_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

type ratioVector struct {
	A, B  string
	Ratio float64
}

func readRatios(t *testing.T) []ratioVector {
	f, err := os.Open("testdata/ratios.jsonl")
	require.NoError(t, err)
	defer f.Close()
	var out []ratioVector
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v ratioVector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		out = append(out, v)
	}
	return out
}

// Promise: Ratio is Python's difflib ratio, to the last bit, popular code
// points included.
func TestRatioIsPythons(t *testing.T) {
	vectors := readRatios(t)
	require.Greater(t, len(vectors), 200)
	for _, v := range vectors {
		require.Equal(t, v.Ratio, advantage.Ratio(v.A, v.B), "%q %q", v.A, v.B)
	}
}

// Promise: the short cuts of similarity grouping decide as the ratio does: b
// founds a cluster, a joins it if and only if ratio(a, b) ≥ threshold.
func TestSimilarityGroupsDecideByRatio(t *testing.T) {
	for _, v := range readRatios(t) {
		for _, threshold := range []float64{0.3, 0.6, 0.9, v.Ratio} {
			if threshold <= 0 || threshold >= 1 {
				continue
			}
			got := advantage.AnchorGroups(make([]int32, 2), []int32{0, 0}, []string{v.B, v.A}, threshold)
			joined := v.Ratio >= threshold || v.A == v.B
			require.Equal(t, joined, got[0] == got[1], "%q %q at %v", v.A, v.B, threshold)
		}
	}
}

// Promise: greedy first fit against first members, in row order, within the
// group; an anchor seen again stays in its cluster.
func TestSimilarityFirstFit(t *testing.T) {
	anchors := []string{"aaaa bbbb", "aaaa bbcc", "aaaa cccc", "aaaa bbcc", "aaaa bbbb", "zzzz"}
	group := []int32{0, 0, 0, 0, 1, -1}
	// Row 1 joins row 0; row 2 resembles row 1, which heads no cluster.
	got := advantage.AnchorGroups(make([]int32, 6), group, anchors, 0.75)
	require.Equal(t, []int32{0, 0, 1, 0, 2, -1}, got)
	got = advantage.AnchorGroups(make([]int32, 6), group, anchors, 0)
	require.Equal(t, []int32{0, 1, 2, 1, 3, -1}, got)
}
