package train

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/credit"
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

// Promise: a branch that is kept, for whatever reason, comes with the episodes that it left.
func TestKeepWhatBranchesLeft(t *testing.T) {
	var all []*rl.Trajectory
	for i, of := range []string{"", "", "", "1", "0", "3"} {
		all = append(all, &rl.Trajectory{ID: fmt.Sprint(i), BranchOf: of, Outcome: "scored", Evaluation: &rl.EvaluateResult{Score: float64(i)}})
	}
	it := &iteration{kept: selectEpisodes(run.SaveConfig{Best: 1}, 0, all)}
	require.Equal(t, []*rl.Trajectory{all[1], all[3], all[5]}, it.kept)
	g := append([]*rl.Trajectory(nil), all...)
	for i, e := range g {
		c := *e
		if g[i] = &c; i%2 == 1 { // two groups: 1 with 3 and 5, and 0 and 2 with 4
			c.Group = "b"
		}
	}
	require.Equal(t, []*rl.Trajectory{g[1], g[3], g[5]}, selectEpisodes(run.SaveConfig{Every: 99}, 98, g), "all members of the group, so all of its branches")
	it.point(all[4:5], all)
	require.Equal(t, []*rl.Trajectory{all[0], all[1], all[3], all[4], all[5]}, it.kept)
}

// Promise: the figures of an iteration are those of the episodes from the start, and steps that
// branches share count once.
func TestBranchesInTheFigures(t *testing.T) {
	episode := func(id, of string, at, steps int, reason rl.StopReason) *rl.Trajectory {
		return &rl.Trajectory{ID: id, BranchOf: of, BranchAt: at, Steps: make([]rl.Step, steps), StopReason: reason, Outcome: "scored"}
	}
	b := &credit.Batch{}
	b.Trajectories = []*rl.Trajectory{
		episode("a", "", 0, 4, rl.StopTruncated), episode("b", "", 0, 2, rl.StopTerminated),
		episode("c", "a", 1, 3, rl.StopTerminated), episode("d", "c", 2, 5, rl.StopTerminated),
	}
	b.First = []int{0}
	for _, t := range b.Trajectories {
		for k := range t.Steps {
			t.Steps[k].ActionValid = k > 0
			b.Steps = append(b.Steps, &t.Steps[k])
			b.Rows.Scored, b.Rows.Score, b.Rows.Reward = append(b.Rows.Scored, true), append(b.Rows.Score, 1), append(b.Rows.Reward, 0)
		}
		b.First = append(b.First, len(b.Steps))
	}
	r := rolloutMetrics(b, 5, DefaultConfig())
	require.Equal(t, map[string]int{"truncated": 1, "terminated": 1}, r.Stops)
	require.Equal(t, []int{2, 2, 11, 1}, []int{r.Episodes, r.Branches, r.Steps, r.Discarded})
	require.Equal(t, []float64{0.5, 3, 2.0 / 11}, []float64{r.Success, r.Length, r.Invalid})
}
