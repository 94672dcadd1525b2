package explain_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/recheck/explain"
)

// What the estimators of several rewards and of greedy episodes read.
var (
	weights = [2]float64{1, 0.25}
	greedy  = 0.75
)

// walk returns a trajectory of the group that visits states and gets its reward at the end.
func walk(id string, score float64, states ...string) *rl.Trajectory {
	t := &rl.Trajectory{
		ID: "train-7-g0-" + id, Group: "train-7-g0", Outcome: "scored", StopReason: rl.StopTerminated,
		Evaluation: &rl.EvaluateResult{Score: score, IsScoreValid: true, Metrics: rl.Metrics{
			{Name: "right", Score: score, IsScoreValid: true, Weight: &weights[0]},
			{Name: "short", Score: float64(10 - len(states)), IsScoreValid: true, Weight: &weights[1]},
		}},
		GreedyScore: &greedy,
		Messages:    []rl.Message{{Role: rl.RoleUser, Content: rl.Text(states[0])}},
	}
	for i, s := range states {
		value := 0.25 * float64(i)
		t.Steps = append(t.Steps, rl.Step{Index: i, MessageCount: 1 + 2*i, Anchor: s, Action: rl.Action{Text: fmt.Sprint("to ", i)}, ActionValid: true, Value: &value})
		t.Messages = append(t.Messages, rl.Message{Role: rl.RoleAssistant, Name: []string{"guest", "host"}[i%2], Content: rl.Text("go")}, rl.Message{Role: rl.RoleUser, Content: rl.Text("after " + s)})
	}
	return t
}

// group has three scored members, one without a score, an invalid action, a state that an
// episode revisits and one that only one step saw.
func group() []*rl.Trajectory {
	cut := walk("cut", 0, "hall", "door", "hall")
	cut.StopReason, cut.Steps[2].Truncated = rl.StopTruncated, true
	final := 0.5
	cut.Bootstrap = &final
	cut.Steps[1].ActionValid = false
	lost := walk("lost", 0, "hall")
	lost.Outcome, lost.Evaluation, lost.Error = "trap", nil, "unreachable"
	return []*rl.Trajectory{walk("won", 1, "hall", "door"), cut, lost, walk("late", 0.5, "hall", "yard", "door")}
}

func settings(change func(*advantage.Config)) explain.Settings {
	s := explain.DefaultSettings()
	s.Advantage.Gamma, s.Advantage.InvalidActionPenalty = 0.5, 0.1
	change(&s.Advantage)
	return s
}

// variants are all estimators with all rules that change a mean or a divisor.
func variants() map[string]func(*advantage.Config) {
	all := map[string]func(*advantage.Config){
		"convex":     func(c *advantage.Config) { c.Combine, c.Omega = advantage.CombineConvex, 0.25 },
		"deviation":  func(c *advantage.Config) { c.Normalization = advantage.MeanStdNorm },
		"over steps": func(c *advantage.Config) { c.BaselineOver = advantage.OverSteps },
		"similar":    func(c *advantage.Config) { c.Similarity = 0.4 },
		"raw": func(c *advantage.Config) {
			c.Singleton, c.Normalization = advantage.SingletonRaw, advantage.MeanStdNorm
		},
		"long": func(c *advantage.Config) { c.Estimator, c.History = "hgpo", 4 },
	}
	for _, name := range []string{"gigpo", "graphgpo", "g2po"} {
		all[name+" over the batch"] = func(c *advantage.Config) { c.Estimator, c.Episode = name, "batch" }
	}
	for _, name := range advantage.Names() {
		all[name] = func(c *advantage.Config) { c.Estimator = name }
	}
	return all
}

// branched is group with branches, one of them of a branch and one without a score.
func branched() []*rl.Trajectory {
	all := group()
	leave := func(id string, parent *rl.Trajectory, at int, score float64, states ...string) *rl.Trajectory {
		for k := range at + 1 {
			states = slices.Insert(states, k, parent.Steps[k].Anchor)
		}
		b := walk(id, score, states...)
		b.BranchOf, b.BranchAt = parent.ID, at
		copy(b.Steps, parent.Steps[:at])
		for k := range b.Steps {
			b.Steps[k].LogProb, b.Steps[k].Action.Text = -0.5, parent.Steps[min(k, len(parent.Steps)-1)].Action.Text
		}
		all = append(all, b)
		return b
	}
	one := leave("one", all[0], 1, 0.25, "room")
	leave("two", all[0], 1, 1)
	leave("deep", one, 2, 0, "hall", "hall")
	leave("again", one, 1, 0.5, "hall")
	leave("lost", all[0], 0, 0, "hall").Outcome = "timeout"
	leave("start", all[0], 0, 0.125, "hall")
	return all
}

// parts adds up the parts of an explanation, by the formula of its estimator.
func parts(e *explain.Explanation) float64 {
	switch e.Config.Estimator {
	case "graphgpo", "tigpo":
		return e.Episode.Value + e.Config.Omega*e.StepTerm.Value
	case "g2po":
		return e.Episode.Value + e.Config.Omega*(e.StepTerm.Value+e.GainTerm.Value)
	case "gdpo":
		sum := -e.Return.Penalty
		for _, r := range e.Rewards {
			sum += r.Weight * r.Value
		}
		if sum-e.StepTerm.Of > 1e-12 || e.StepTerm.Of-sum > 1e-12 {
			return math.NaN()
		}
		return e.StepTerm.Value
	case "gagpo", "reinforce_pp_baseline":
		return e.StepTerm.Value
	case "gigpo":
		if e.Config.Combine == advantage.CombineConvex {
			return e.Config.Omega*e.Episode.Value + (1-e.Config.Omega)*e.StepTerm.Value
		}
		return e.Episode.Value + e.Config.Omega*e.StepTerm.Value
	case "reinforce_pp":
		return e.StepTerm.Value
	case "tree", "vine", "counterfactual":
		switch {
		case e.StepTerm == nil:
			return 0
		case e.Config.Estimator == "vine":
			return e.StepTerm.Value - e.Return.Penalty
		}
		return e.StepTerm.Value
	case "gae":
		sum := 0.0
		for _, d := range e.Deltas {
			sum += d.Weight * (d.Reward + e.Config.Gamma*d.Next - d.Value)
		}
		return sum - e.Return.Penalty
	case "hgpo":
		sum, weights := 0.0, 0.0
		for _, l := range e.Levels {
			sum, weights = sum+l.Weight*l.Value, weights+l.Weight
		}
		if weights == 0 {
			return 0
		}
		return sum / weights
	}
	return e.Episode.Value
}

// Promise: with every estimator and rule, for every step, the parts add up to the advantage
// that package advantage computes; the return follows from its stated parts; and peers are the
// steps with the same state.
func TestPartsAddUp(t *testing.T) {
	for name, change := range variants() {
		for _, members := range [][]*rl.Trajectory{group(), {walk("alone", 0.5, "hall", "hall")}, branched()} {
			b, err := explain.FromTrajectories(settings(change), "test", members)
			require.NoError(t, err, name)
			for row := range b.Rows.Len() {
				e := b.Explain(row)
				where := fmt.Sprintf("%s: %s step %d", name, e.Trajectory, e.Step)
				require.Equal(t, b.Result.Advantage[row], e.Advantage, where)
				if !e.Scored {
					require.Zero(t, e.Advantage)
					continue
				}
				if e.Config.Estimator != "gae" || e.Deltas != nil { // nil: it is a mean over branches
					require.InDelta(t, e.Advantage, parts(e), 1e-12, where)
				}
				require.InDelta(t, e.Return.Value, e.Return.Reward+e.Config.Gamma*e.Return.Next-e.Return.Penalty, 1e-12, where)
				requireTerm(t, e.Episode, where)
				requireTerm(t, e.StepTerm, where)
				requireTerm(t, e.GainTerm, where)
				if e.Config.Estimator == "gagpo" && e.Deltas != nil {
					sum := -e.Return.Penalty
					for _, d := range e.Deltas {
						sum += d.Weight * (d.Reward + e.Config.Gamma*d.Next - d.Value)
					}
					require.InDelta(t, e.StepTerm.Of, sum, 1e-12, where)
				}
				self := 0
				for _, p := range e.Anchor.Steps {
					require.NotContains(t, p.Trajectory, "lost")
					if p.Self {
						self++
						require.Equal(t, e.Advantage, p.Advantage)
					}
				}
				require.Equal(t, 1, self, where)
			}
		}
	}
}

func requireTerm(t *testing.T, term *explain.Term, where string) {
	if term != nil && term.N > 1 {
		require.InDelta(t, term.Value, (term.Of-term.Mean)/term.Divisor, 1e-12, where)
	}
}

// Promise: a hand-computed case. Scores 1, 0, 0.5; γ 0.5; the last step of "won" is at the
// door with G = 1, "late" too with 0.5, and "cut" was there with G = 0 + 0.5·(0 + 0.5·0.5) −
// 0.1 = 0.025 for an invalid action.
func TestByHand(t *testing.T) {
	b, err := explain.FromTrajectories(settings(func(*advantage.Config) {}), "test", group())
	require.NoError(t, err)
	e := b.Explain(1)
	require.Equal(t, "train-7-g0-won", e.Trajectory)
	require.Equal(t, 7, e.Iteration)
	require.InDelta(t, 0.5, e.Episode.Mean, 1e-15)
	require.InDelta(t, 0.5, e.Episode.Value, 1e-15)
	require.Equal(t, "door", e.Anchor.Key)
	var returns []float64
	for _, p := range e.Anchor.Steps {
		returns = append(returns, p.Return)
	}
	require.InDeltaSlice(t, []float64{1, 0.025, 0.5}, returns, 1e-15)
	mean := (1 + 0.025 + 0.5) / 3
	require.InDelta(t, mean, e.StepTerm.Mean, 1e-15)
	require.InDelta(t, 0.5+1-mean, e.Advantage, 1e-15)
	require.Nil(t, e.Members[2].Score)
	require.Equal(t, "unreachable", e.Members[2].Reason)
	require.Contains(t, fmt.Sprint(e.Notes), "1 of 4 members have no score")

	var names []string
	for _, o := range e.Others {
		names = append(names, o.Name)
		if o.Name == "grpo: over the deviation of scores" {
			require.InDelta(t, 0.5/(0.5+1e-6), o.Advantage, 1e-15)
		}
	}
	require.Len(t, names, 11)
	require.Contains(t, fmt.Sprint(b.Explain(3).Notes), "the action was invalid: 0.1")
	require.Contains(t, fmt.Sprint(b.Explain(4).Notes), "truncated here")
	require.Contains(t, fmt.Sprint(b.Explain(7).Notes), "no other step of the group saw this state")
	require.Contains(t, fmt.Sprint(b.Explain(2).Notes), "1 of the 3 other steps belong to the same episode")
	require.Contains(t, fmt.Sprint(b.Explain(5).Notes), "the learner ignores it")
}

// Promise: step outputs are joined with steps whichever messages their reward counted: the
// assistant's, or all.
func TestOutputsOfEitherRule(t *testing.T) {
	var want *explain.Explanation
	for _, rule := range []func(k int) rl.StepIndex{func(k int) rl.StepIndex { return rl.StepIndex(k) }, func(k int) rl.StepIndex { return rl.StepIndex(1 + 2*k) }} {
		members := []*rl.Trajectory{walk("won", 1, "hall", "door"), walk("late", 0.5, "hall", "yard", "door")}
		for _, m := range members {
			for k := range m.Steps {
				m.Evaluation.StepOutputs = append(m.Evaluation.StepOutputs, rl.StepOutput{StepIndex: rule(k), BaseReward: float64(k)})
			}
		}
		b, err := explain.FromTrajectories(settings(func(*advantage.Config) {}), "test", members)
		require.NoError(t, err)
		got := b.Explain(1)
		require.True(t, got.Scored)
		if want == nil {
			want = got
		}
		require.Equal(t, want, got)
	}
}

// Promise: the graph of a hand-computed case. Members won (score 1) and late (0.5) succeed,
// cut does not. From the hall, steps lead to the door (won, cut) and to the yard (late), and
// cut ends there. The door is the last state of won and late: 1 step to a success.
func TestGraphByHand(t *testing.T) {
	for _, estimator := range []string{"graphgpo", "g2po", "gagpo"} {
		b, err := explain.FromTrajectories(settings(func(c *advantage.Config) { c.Estimator = estimator }), "test", group())
		require.NoError(t, err)
		e := b.Explain(0)
		require.Equal(t, []int{2, 1, 1}, []int{e.Graph.Before, e.Graph.After, e.Graph.Members}, estimator)
		require.Equal(t, []explain.Hop{{Trajectory: "train-7-g0-won", Step: 1, Action: "to 1", State: "door"}}, e.Graph.Path)
		require.Equal(t, "2 steps from this state, 1 after this step", e.Graph.Left())
		places := map[string]explain.Edge{}
		for i, edge := range e.Edges {
			places[edge.Where()] = edge
			require.True(t, i == 0 || edge.Value <= e.Edges[i-1].Value, estimator)
		}
		require.Len(t, places, 3)
		door, yard, end := places["door"], places["yard"], places["the end, without success"]
		require.Equal(t, []int{2, 2, 1, 1, 1, 1}, []int{door.Steps, door.Members, yard.Steps, yard.Members, end.Steps, end.Members})
		require.Equal(t, []string{"1", "2", "no way"}, []string{door.Left(), yard.Left(), end.Left()})
		require.True(t, door.Self && !yard.Self && !end.Self)
		switch estimator {
		case "graphgpo":
			require.InDelta(t, 1, door.Next, 1e-15)
			require.InDelta(t, 0.1, yard.Next, 1e-15)
		case "g2po": // V of the door: (0.5·1 + 0.5²·0 + 0.5·0.5) / 3, the visit of cut counts as 0
			require.InDelta(t, 0.25, door.Next, 1e-15)
		}
		require.Equal(t, "1 step from this state, and this step succeeded", b.Explain(1).Graph.Left())
		require.Equal(t, "2 steps from this state, and no way is known after this step", b.Explain(4).Graph.Left())
		lost := group()
		for _, m := range lost {
			if m.Evaluation != nil {
				m.Evaluation.Score = 0
			}
		}
		b, err = explain.FromTrajectories(settings(func(c *advantage.Config) { c.Estimator = estimator }), "test", lost)
		require.NoError(t, err)
		require.Equal(t, "no way to a success is known from this state", b.Explain(0).Graph.Left())
	}
	b, err := explain.FromTrajectories(settings(func(*advantage.Config) {}), "test", group())
	require.NoError(t, err)
	require.Nil(t, b.Explain(0).Graph)
	require.Empty(t, b.Explain(0).Edges)
}

// Promise: with tigpo, the way goes along the stored steps of earlier updates: nobody in the group
// succeeded, and two kept steps lead from the door to a success.
func TestKeptWayByHand(t *testing.T) {
	members := group()
	for _, m := range members {
		if m.Evaluation != nil {
			m.Evaluation.Score = 0
		}
	}
	s := settings(func(c *advantage.Config) { c.Estimator = "tigpo" })
	b, err := explain.FromTrajectories(s, "test", members)
	require.NoError(t, err)
	require.False(t, b.Explain(0).Graph.Known)
	row := 0
	for _, m := range members {
		for i := range m.Steps {
			if m.Outcome == "scored" {
				m.Steps[i].Credit = &rl.Credit{AnchorGroup: int(b.Result.AnchorGroup[row])}
				if m.Steps[i].Anchor == "door" {
					m.Steps[i].Credit.KeptSteps = 2
				}
			}
			row++
		}
	}
	b, err = explain.FromTrajectories(s, "test", members)
	require.NoError(t, err)
	e := b.Explain(0)
	require.Equal(t, "3 steps from this state, 2 after this step", e.Graph.Left())
	require.Equal(t, []explain.Hop{{Trajectory: "train-7-g0-won", Step: 1, State: "door", Kept: 2}}, e.Graph.Path)
	require.InDelta(t, 0.1, e.Graph.Q, 1e-15)
	require.Equal(t, "q = 10 × distance_decay^d(s') = 10 × 0.1^2 = 0.1", e.Graph.Formula(e.Config))
	yard := b.Explain(6)
	require.Equal(t, "train-7-g0-late", yard.Trajectory)
	require.Len(t, yard.Graph.Path, 2, "by the yard and the door")

	s.Advantage.Estimator = "graphgpo"
	b, err = explain.FromTrajectories(s, "test", members)
	require.NoError(t, err)
	require.False(t, b.Explain(0).Graph.Known)
	names := fmt.Sprint(b.Explain(0).Others)
	require.Contains(t, names, "tigpo: the same, with steps of earlier iterations")
}

// Promise: stored numbers are compared bit for bit, and each difference is reported with both
// values; the stored numbers stay unchanged.
func TestDifferences(t *testing.T) {
	members, s := group(), settings(func(*advantage.Config) {})
	b, err := explain.FromTrajectories(s, "test", members)
	require.NoError(t, err)
	row := 0
	for _, m := range members {
		for i := range m.Steps {
			if m.Outcome == "scored" {
				r := &b.Result
				m.Steps[i].Credit = &rl.Credit{BaseReward: b.Rows.Reward[row], Return: r.Return[row], EpisodeAdvantage: r.Episode[row], StepAdvantage: r.Step[row], Advantage: r.Advantage[row]}
			}
			row++
		}
	}
	b, err = explain.FromTrajectories(s, "test", members)
	require.NoError(t, err)
	e := b.Explain(0)
	require.Equal(t, []int{8, 8}, []int{e.Checked, e.Agree})
	require.Empty(t, e.Differences)

	saved := members[0].Steps[0].Credit
	before := saved.Advantage
	saved.Advantage = math.Nextafter(before, 9)
	b, err = explain.FromTrajectories(s, "test", members)
	require.NoError(t, err)
	e = b.Explain(0)
	require.Equal(t, []explain.Difference{{Field: "advantage", Saved: saved.Advantage, Computed: before}}, e.Differences)
	require.Equal(t, []int{8, 7}, []int{e.Checked, e.Agree})
}

// Promise: a step has the same explanation within its group as within its whole batch, even if
// the batch is whitened.
func TestNarrow(t *testing.T) {
	all := group()
	for _, m := range group() {
		m.ID, m.Group = m.ID+"-again", "train-7-g1"
		all = append(all, m)
	}
	for name, change := range variants() {
		b, err := explain.FromTrajectories(settings(change), "test", all)
		require.NoError(t, err, name)
		for row := range b.Rows.Len() {
			e := b.Explain(row)
			require.Equal(t, b.Result.Advantage[row], e.Advantage, "%s row %d", name, row)
			require.Len(t, e.Members, 4)
		}
	}
}

// Promise: data that the estimator cannot use is an error.
func TestUnfit(t *testing.T) {
	all := group()
	all[0].Steps[0].Value = nil
	_, err := explain.FromTrajectories(settings(func(c *advantage.Config) { c.Estimator = "gae" }), "test", all)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
	require.ErrorContains(t, err, "value")
}

// Promise: the settings of a run come from its configuration, with defaults for keys that are
// newer than the run; other sections are ignored.
func TestReadSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600))
	}
	write("seed: 1\nadvantage:\n  estimator: hgpo\n  gamma: 0.5\nalign: {env_reward_weight: 2}\nrollout:\n  members: 3\n  groups: 7\n")
	s, err := explain.ReadSettings(dir)
	require.NoError(t, err)
	want := explain.DefaultSettings()
	want.Advantage.Estimator, want.Advantage.Gamma, want.Align.EnvRewardWeight, want.Members = "hgpo", 0.5, 2, 3
	require.Equal(t, want, s)
	write("advantage: [")
	_, err = explain.ReadSettings(dir)
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Corrupt))
	_, err = explain.ReadSettings(t.TempDir())
	require.Error(t, err)
}
