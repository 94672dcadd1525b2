package train

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// Promise: the rules for saving add up, keep the order, keep nothing twice, and
// count episodes over the whole run.
func TestSelectEpisodes(t *testing.T) {
	var all []*rl.Trajectory
	for i, score := range []float64{1, 3, 2, 5, 4} {
		all = append(all, &rl.Trajectory{ID: fmt.Sprint(i), Outcome: "scored", Evaluation: &rl.EvaluateResult{Score: score}})
	}
	all[2].Outcome, all[2].Evaluation = "trap", nil
	for _, c := range []struct {
		config run.SaveConfig
		before uint64
		want   string
	}{
		{run.SaveConfig{}, 0, ""},
		{run.SaveConfig{Every: 2}, 0, "024"},
		{run.SaveConfig{Every: 2}, 7, "13"},
		{run.SaveConfig{Failed: true}, 0, "2"},
		{run.SaveConfig{Best: 2}, 0, "34"},
		{run.SaveConfig{Worst: 2}, 0, "01"},
		{run.SaveConfig{Every: 3, Failed: true, Best: 1, Worst: 1}, 0, "023"},
		{run.SaveConfig{Best: 9, Worst: 9}, 0, "0134"},
	} {
		got := ""
		for _, e := range selectEpisodes(c.config, c.before, all) {
			got += e.ID
		}
		require.Equal(t, c.want, got, "%+v", c.config)
	}
}

// Promise: whole groups are kept, those with the largest advantages first,
// members without a score among them, and beside other rules nothing twice.
func TestSelectWholeGroups(t *testing.T) {
	var all []*rl.Trajectory
	for i, a := range []float64{0.5, -0.5, -3, 0, 2, 3} {
		all = append(all, &rl.Trajectory{
			ID: fmt.Sprint(i), Group: fmt.Sprint("g", i/2), Outcome: "scored", Evaluation: &rl.EvaluateResult{Score: a},
			Steps: []rl.Step{{Credit: &rl.Credit{Advantage: a}}},
		})
	}
	all[3].Outcome, all[3].Evaluation, all[3].Steps = "trap", nil, nil
	for _, c := range []struct {
		config run.SaveConfig
		want   string
	}{
		{run.SaveConfig{Groups: 1}, "23"},
		{run.SaveConfig{Groups: 2}, "2345"},
		{run.SaveConfig{Groups: 9}, "012345"},
		{run.SaveConfig{Groups: 1, Best: 1, Worst: 1}, "235"},
	} {
		got := ""
		for _, e := range selectEpisodes(c.config, 0, all) {
			got += e.ID
		}
		require.Equal(t, c.want, got, "%+v", c.config)
	}
	require.Empty(t, selectEpisodes(run.SaveConfig{Groups: 2}, 0, nil))
}
