package explain_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/explain"
)

const quickstart = "testdata/quickstart"

func find(t *testing.T, c explain.Choice) *explain.Explanation {
	s, err := explain.ReadSettings(quickstart)
	require.NoError(t, err)
	e, err := explain.Find(quickstart, s, c)
	require.NoError(t, err)
	return e
}

// Promise: a step of a real run is explained by the numbers that a person computes with the
// paper's formulas. Of four episodes from one start, three put the box on the target (score 1)
// and one did not (0):
//
//	A_E = 1 − (1+0+1+1)/4 = 0.25
//
// The reward is 1 with the last step, so G is 0.95 to the power of the remaining steps: m2 and
// m3 need three more, 0.95³; m0 walks into a wall, sees the same state again and has six and
// five left; m1 never reaches the target. Five steps saw the state:
//
//	A_S = 0.95³ − (0.95⁶ + 0.95⁵ + 0 + 0.95³ + 0.95³)/5
//	    = 0.857375 − (0.735091890625 + 0.7737809375 + 0 + 2·0.857375)/5
//	    = 0.857375 − 0.644724565625 = 0.212650434375
//	A   = 0.25 + 1 · 0.212650434375 = 0.462650434375
func TestQuickstartByHand(t *testing.T) {
	e := find(t, explain.Choice{Iteration: 26, Trajectory: "train-26-g24-m2", Step: 0})
	require.Equal(t, "up", e.Action)
	require.Equal(t, "train-26-g24", e.Group)
	var scores []float64
	for _, m := range e.Members {
		scores = append(scores, *m.Score)
	}
	require.Equal(t, []float64{1, 0, 1, 1}, scores)
	require.InDelta(t, 0.25, e.EpisodeAdvantage, 1e-15)

	require.Contains(t, e.Anchor.Key, "# @.##")
	type seen struct {
		trajectory, action string
		step               int
	}
	var peers []seen
	var returns, advantages []float64
	for _, p := range e.Anchor.Steps {
		peers = append(peers, seen{p.Trajectory, p.Action, p.Step})
		returns, advantages = append(returns, p.Return), append(advantages, p.Value)
	}
	require.Equal(t, []seen{
		{"train-26-g24-m0", "down", 0}, {"train-26-g24-m0", "up", 1}, {"train-26-g24-m1", "up", 0}, {"train-26-g24-m2", "up", 0}, {"train-26-g24-m3", "up", 0},
	}, peers)
	require.InDeltaSlice(t, []float64{0.735091890625, 0.7737809375, 0, 0.857375, 0.857375}, returns, 1e-15)
	require.InDelta(t, 0.644724565625, e.StepTerm.Mean, 1e-15)
	require.InDeltaSlice(t, []float64{0.090367325, 0.129056371875, -0.644724565625, 0.212650434375, 0.212650434375}, advantages, 1e-15)
	require.InDelta(t, 0.462650434375, e.Advantage, 1e-15)
	require.Equal(t, []int{40, 40}, []int{e.Checked, e.Agree}, "the run holds the same bits")

	// GRPO divides by the deviation of 1, 0, 1, 1, which is 0.5; RLOO compares with the mean
	// of the other three, 2/3; with ω = 0 only the episode advantage remains.
	others := map[string]float64{}
	for _, o := range e.Others {
		others[o.Name] = o.Advantage
	}
	require.InDelta(t, 0.25/(0.5+1e-6), others["grpo: over the deviation of scores"], 1e-12)
	require.InDelta(t, 1-2.0/3, others["rloo: against the other members"], 1e-12)
	require.InDelta(t, 0.25, others["gigpo, ω = 0: episode advantage only"], 1e-15)

	require.Len(t, e.Messages, 4) // the instructions, what the policy saw and said, and the response
	require.Equal(t, "up", e.Messages[2].Content.Text())
}

// Promise: by default, the step with the largest |advantage| of the whole groups is explained,
// and an incomplete group is reported.
func TestChoice(t *testing.T) {
	largest := 0.0
	members := map[string]int{}
	file := filepath.Join(quickstart, "trajectories", "train.jsonl.zst")
	for tr, err := range jsonl.Trajectories(file) {
		require.NoError(t, err)
		members[tr.Group]++
	}
	partial := ""
	for tr, err := range jsonl.Trajectories(file) {
		require.NoError(t, err)
		for _, s := range tr.Steps {
			if members[tr.Group] == 4 {
				largest = max(largest, s.Credit.Advantage, -s.Credit.Advantage)
			} else {
				partial = tr.ID
			}
		}
	}
	e := find(t, explain.Any())
	require.Equal(t, largest, max(e.Advantage, -e.Advantage))
	require.Zero(t, e.Missing)
	require.Equal(t, file, e.Source)
	require.Equal(t, 24, find(t, explain.Choice{Iteration: 24, Step: -1}).Iteration)

	e = find(t, explain.Choice{Iteration: -1, Trajectory: partial, Step: 1})
	require.Positive(t, e.Missing)
	require.Contains(t, e.Notes[0], "of 4 members")

	for _, c := range []explain.Choice{{Iteration: 25, Step: -1}, {Iteration: -1, Step: 99}, {Iteration: -1, Trajectory: "nobody", Step: -1}} {
		_, err := explain.Find(quickstart, explain.DefaultSettings(), c)
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Missing))
	}
}

// Promise: if the whole batch was whitened, the explanation uses the moments that the run
// recorded, so that a group shows the numbers of the batch; missing moments are reported.
func TestWhitened(t *testing.T) {
	all := group()
	for _, m := range group()[:2] {
		m.ID, m.Group, m.Evaluation.Score = m.ID+"-too", "train-7-g1", 4
		all = append(all, m)
	}
	s := settings(func(c *advantage.Config) { c.Estimator = "reinforce_pp" })
	b, err := explain.FromTrajectories(s, "test", all)
	require.NoError(t, err)
	row := 0
	var text bytes.Buffer
	for i, m := range all {
		for k := range m.Steps {
			if m.Outcome == "scored" {
				m.Steps[k].Credit = &rl.Credit{BaseReward: b.Rows.Reward[row], Return: b.Result.Return[row], StepAdvantage: b.Result.Step[row], Advantage: b.Result.Advantage[row]}
			}
			row++
		}
		if i < 4 { // the first group was saved
			require.NoError(t, json.NewEncoder(&text).Encode(m))
		}
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	write("trajectories/train.jsonl.zst", text.Bytes())
	m := b.Result.Moments
	line, err := json.Marshal(run.Iteration{Iteration: 7, Advantage: &run.Advantage{Moments: &run.Moments{N: m.N, Mean: m.Mean, Deviation: m.Deviation}}})
	require.NoError(t, err)
	write("metrics.jsonl", append(line, '\n'))
	e, err := explain.Find(dir, s, explain.Any())
	require.NoError(t, err)
	require.Equal(t, []int{8, 8}, []int{e.Checked, e.Agree})
	require.Equal(t, m.N, e.StepTerm.N)

	write("metrics.jsonl", nil)
	e, err = explain.Find(dir, s, explain.Any())
	require.NoError(t, err)
	require.Less(t, e.Agree, e.Checked)
	require.Contains(t, e.Notes[len(e.Notes)-1], "are unknown")
}

// Promise: files without anything to explain, and damaged files, are errors.
func TestFindNothing(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(quickstart, "trajectories", "train.jsonl.zst"))
	require.NoError(t, err)
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)/2] ^= 1
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty.jsonl": "", "no.jsonl": "hello\n", "bare.jsonl": `{"id":"a","messages":[{"role":"user","content":"q"}]}` + "\n",
		"cut.jsonl.zst": string(whole[:len(whole)/2]), "flipped.jsonl.zst": string(damaged), "rows.jsonl": `{"group":"g","episode_score":1}` + "\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := explain.Find(path, explain.DefaultSettings(), explain.Any())
		require.NotNil(t, fault.As(err), name)
		require.NotEmpty(t, fault.As(err).Hint, name)
	}
	_, err = explain.Find(dir, explain.DefaultSettings(), explain.Any())
	require.Error(t, err)
}
