package align_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// episode is a trajectory of n steps whose prompt holds an assistant message:
// user, assistant, user, then assistant and user for each step. Step i acts in
// message 3+2i, the assistant message number i behind the prompt.
func episode(id string, n int) *rl.Trajectory {
	t := &rl.Trajectory{ID: id, StopReason: rl.StopTerminated}
	say := func(role string) { t.Messages = append(t.Messages, rl.Message{Role: role}) }
	say(rl.RoleUser)
	say(rl.RoleAssistant)
	say(rl.RoleUser)
	for i := range n {
		t.Steps = append(t.Steps, rl.Step{Index: i, MessageCount: len(t.Messages), Anchor: fmt.Sprint("s", i), ActionValid: true, EnvReward: float64(i)})
		say(rl.RoleAssistant)
		say(rl.RoleUser)
	}
	return t
}

func scored(score float64, steps ...rl.StepOutput) reward.Evaluation {
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: score, IsScoreValid: true, StepOutputs: steps}}
}

func step(index int, base float64) rl.StepOutput {
	return rl.StepOutput{StepIndex: rl.StepIndex(index), BaseReward: base}
}

func group(members ...*rl.Trajectory) []*rl.Group {
	return []*rl.Group{{ID: "g", Trajectories: members}}
}

// Promise: step outputs land on the steps that they name by the manifest's
// rule, also behind a prompt with assistant messages; steps without one have
// the default; without any, the score counts at the last step. Their sum can be
// found from what is kept.
func TestBaseRewards(t *testing.T) {
	cases := []struct {
		name    string
		cfg     align.Config
		rule    reward.StepIndexing
		e       reward.Evaluation
		rewards []float64
		score   float64
	}{
		{"by assistant message", align.Config{}, reward.ByAssistant, scored(5, step(2, 3), step(0, 1), step(1, 2)), []float64{1, 2, 3}, 5},
		{"by message", align.Config{}, reward.ByMessage, scored(5, step(3, 1), step(5, 2), step(7, 3)), []float64{1, 2, 3}, 5},
		{"no rule is by assistant", align.Config{}, "", scored(5, step(0, 1), step(1, 2), step(2, 3)), []float64{1, 2, 3}, 5},
		{"some steps", align.Config{DefaultStepReward: -0.1}, reward.ByAssistant, scored(5, step(1, 2)), []float64{-0.1, 2, -0.1}, 5},
		{"no steps", align.Config{DefaultStepReward: -0.25}, reward.ByAssistant, scored(5), []float64{-0.25, -0.25, 4.75}, 5},
		{"deltas", align.Config{StepScores: "deltas"}, reward.ByAssistant, scored(5, step(2, 3), step(0, 1), step(1, 5)), []float64{1, 4, -2}, 5},
		{"deltas of some steps", align.Config{StepScores: "deltas", DefaultStepReward: -0.5}, reward.ByAssistant, scored(5, step(0, 1), step(2, 3)), []float64{1, -0.5, 2}, 5},
		{"deltas without steps", align.Config{StepScores: "deltas"}, reward.ByAssistant, scored(5), []float64{0, 0, 5}, 5},
		{"the environment's reward", align.Config{EnvRewardWeight: 0.5}, reward.ByAssistant, scored(5), []float64{0, 0.5, 6}, 6.5},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := episode("t", 3)
			b, err := align.Join(c.cfg, group(tr), []reward.Evaluation{c.e}, c.rule)
			require.NoError(t, err)
			require.Equal(t, c.rewards, b.Rows.Reward)
			require.Equal(t, []float64{c.score, c.score, c.score}, b.Rows.Score)
			require.Equal(t, []bool{true, true, true}, b.Rows.Scored)
			require.Equal(t, "scored", tr.Outcome)
			require.Equal(t, &c.e.Result, tr.Evaluation)

			total := 0.0
			for _, r := range c.rewards {
				total += r
			}
			score, sum := c.cfg.Totals(tr)
			require.InDelta(t, c.score, score, 1e-12)
			require.InDelta(t, total, sum, 1e-12)
		})
	}
}

// Promise: a step output without a step, twice or not finite leaves its
// trajectory unscored and names the trajectory and the step.
func TestUnaligned(t *testing.T) {
	cases := []struct {
		name string
		rule reward.StepIndexing
		e    reward.Evaluation
		want string
	}{
		{"beyond the end", reward.ByAssistant, scored(1, step(3, 1)), "trajectory bad: step_index 3 (index among the assistant messages after the prompt) does not exist; there are 3" +
			`; message 3 is an assistant message: if the reward counts all messages, set step_index to "message" in its manifest (in Python: __merit__ = {"step_index": "message"})`},
		{"negative", reward.ByAssistant, scored(1, step(-1, 1)), "trajectory bad: step_index -1 (index among the assistant messages after the prompt) does not exist; there are 3"},
		{"twice", reward.ByAssistant, scored(1, step(2, 1), step(2, 1)), "trajectory bad: step_index 2 occurs twice"},
		{"NaN", reward.ByAssistant, scored(1, step(2, math.NaN())), "trajectory bad: the base reward of step_index 2 is NaN"},
		{"Inf", reward.ByMessage, scored(1, step(3, math.Inf(-1))), "trajectory bad: the base reward of step_index 3 is -Inf"},
		{"a user's message", reward.ByMessage, scored(1, step(4, 1)), `trajectory bad: step_index 4 (index of the message) is a message of role "user", not of the assistant`},
		{"no message", reward.ByMessage, scored(1, step(9, 1)), "trajectory bad: step_index 9 (index of the message) does not exist; there are 9 messages"},
		{"of the prompt", reward.ByMessage, scored(1, step(1, 1)), "trajectory bad: step_index 1 (index of the message) is a message of the prompt, which has 3 messages" +
			"; assistant message 1 exists: if the reward counts assistant messages, remove step_index from its manifest"},
		{"too large a score", reward.ByAssistant, scored(math.Inf(1)), "trajectory bad: step 0 has base reward 0 and episode score +Inf"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			groups := group(episode("good", 2), episode("bad", 3))
			b, err := align.Join(align.Config{MaxUnscored: 0.5}, groups, []reward.Evaluation{scored(1), c.e}, c.rule)
			require.NoError(t, err)
			require.Equal(t, reward.Unaligned, b.Evaluations[1].Outcome)
			require.Equal(t, c.want, b.Evaluations[1].Reason)
			require.Equal(t, []bool{true, true, false, false, false}, b.Rows.Scored)
			require.Equal(t, []float64{0, 0, 0}, b.Rows.Reward[2:])
			require.Equal(t, []float64{0, 0, 0}, b.Rows.Score[2:])
			require.Equal(t, "unaligned", groups[0].Trajectories[1].Outcome)
			require.Nil(t, groups[0].Trajectories[1].Evaluation)
			require.Equal(t, []reward.Count{{Outcome: reward.Scored, N: 1}, {Outcome: reward.Unaligned, N: 1}}, b.Counts())

			_, err = align.Join(align.Config{MaxUnscored: 0.49}, groups, []reward.Evaluation{scored(1), c.e}, c.rule)
			require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Unaligned))
			require.ErrorContains(t, err, "bad: unaligned ("+c.want)
		})
	}
}

// Promise: a conversation without steps, as in a data file, is held to the
// same rule.
func TestCheck(t *testing.T) {
	tr := episode("t", 1)
	tr.Steps = nil
	ok := scored(1, step(0, 1), step(1, 2))
	require.Equal(t, ok, align.Check(tr, ok, reward.ByAssistant))
	bad := align.Check(tr, scored(1, step(2, 1)), reward.ByAssistant)
	require.Equal(t, reward.Unaligned, bad.Outcome)
	require.False(t, bad.Result.IsScoreValid)
	require.Contains(t, bad.Reason, "step_index 2")
	require.Equal(t, reward.Unaligned, align.Check(tr, scored(1, step(0, 1)), reward.ByMessage).Outcome)
	prompt := 3
	tr.PromptMessages = &prompt
	require.Equal(t, scored(1, step(0, 2)), align.Check(tr, scored(1, step(0, 2)), reward.ByAssistant), "the first behind the prompt that the row gave")
	require.Contains(t, align.Check(tr, ok, reward.ByAssistant).Reason, "step_index 1 (index among the assistant messages after the prompt)")
	trap := reward.Evaluation{Outcome: reward.Trap, Result: rl.EvaluateResult{StepOutputs: []rl.StepOutput{step(9, 1)}}}
	require.Equal(t, trap, align.Check(tr, trap, reward.ByAssistant))
}

// Promise: rows stand group-major with all that the estimators read, also for
// episodes without a step or a score.
func TestRows(t *testing.T) {
	a, empty, lost, b := episode("a", 2), episode("empty", 0), episode("lost", 1), episode("b", 1)
	value, final := 0.5, 0.75
	for _, tr := range []*rl.Trajectory{a, lost, b} {
		for k := range tr.Steps {
			tr.Steps[k].Value = &value
		}
	}
	a.Steps[1].Truncated, a.Bootstrap = true, &final
	b.Steps[0].Terminated, b.Steps[0].ActionValid = true, false
	groups := []*rl.Group{{Trajectories: []*rl.Trajectory{a, empty}}, {Trajectories: []*rl.Trajectory{lost, b}}}
	evaluations := []reward.Evaluation{scored(1), scored(0), {Outcome: reward.Infrastructure, Reason: "killed"}, scored(2)}
	batch, err := align.Join(align.Config{MaxUnscored: 0.3}, groups, evaluations, reward.ByAssistant)
	require.NoError(t, err)
	require.Equal(t, advantage.Rows{
		Group: []int32{0, 0, 1, 1}, Trajectory: []int32{0, 0, 2, 3}, Step: []int32{0, 1, 0, 0},
		Reward: []float64{0, 1, 0, 2}, Score: []float64{1, 1, 0, 2},
		Anchor: []string{"s0", "s1", "s0", "s0"}, Scored: []bool{true, true, false, true}, Valid: []bool{true, true, true, false},
		Value: []float64{.5, .5, .5, .5}, Bootstrap: []float64{0, .75, 0, 0},
		Terminated: []bool{false, false, false, true}, Truncated: []bool{false, true, false, false},
	}, batch.Rows)
	require.Equal(t, []int{0, 2, 2, 3, 4}, batch.First)
	require.Same(t, &b.Steps[0], batch.Steps[3])
	require.Equal(t, []*rl.Trajectory{a, empty, lost, b}, batch.Trajectories)

	// One step without a value: the batch has no critic.
	b.Steps[0].Value = nil
	batch, err = align.Join(align.Config{MaxUnscored: 0.3}, groups, evaluations, reward.ByAssistant)
	require.NoError(t, err)
	require.Nil(t, batch.Rows.Value)
	require.Nil(t, batch.Rows.Bootstrap)
}

// Promise: credit goes to the steps that earned it; those without a score have
// none. Every estimator accepts the rows.
func TestWrite(t *testing.T) {
	groups := group(episode("a", 2), episode("b", 2), episode("c", 2), episode("empty", 0))
	value := 0.0
	for _, tr := range groups[0].Trajectories {
		for k := range tr.Steps {
			tr.Steps[k].Value = &value
		}
	}
	evaluations := []reward.Evaluation{scored(1), scored(0), {Outcome: reward.Trap}, scored(0)}
	b, err := align.Join(align.Config{MaxUnscored: 0.5}, groups, evaluations, reward.ByAssistant)
	require.NoError(t, err)
	fill(&b.Rows)
	for _, name := range advantage.Names() {
		cfg := advantage.Default()
		cfg.Estimator = name
		require.NoError(t, advantage.Estimate(cfg, &b.Rows, new(advantage.Result)), name)
	}
	cfg := advantage.Default()
	cfg.Gamma = 0.5
	var result advantage.Result
	require.NoError(t, advantage.Estimate(cfg, &b.Rows, &result))
	b.Write(&result)
	first := groups[0].Trajectories[0].Steps
	require.Equal(t, &rl.Credit{BaseReward: 0, Return: 0.5, EpisodeAdvantage: 0.5, StepAdvantage: 0.25, Advantage: 0.75, AnchorGroup: 0}, first[0].Credit)
	require.Equal(t, &rl.Credit{BaseReward: 1, Return: 1, EpisodeAdvantage: 0.5, StepAdvantage: 0.5, Advantage: 1, AnchorGroup: 1}, first[1].Credit)
	require.Nil(t, groups[0].Trajectories[2].Steps[0].Credit)
}

// Promise: a batch that is filled again keeps nothing of the previous content
// and allocates almost nothing.
func TestBatchIsReused(t *testing.T) {
	small := group(episode("a", 1))
	var b align.Batch
	large, evaluations := many(20, 10)
	require.NoError(t, b.Fill(align.DefaultConfig(), large, evaluations, reward.ByAssistant))
	require.NoError(t, b.Fill(align.DefaultConfig(), small, []reward.Evaluation{scored(3)}, reward.ByAssistant))
	fresh, err := align.Join(align.DefaultConfig(), small, []reward.Evaluation{scored(3)}, reward.ByAssistant)
	require.NoError(t, err)
	require.Equal(t, fresh.Rows, b.Rows)
	require.Equal(t, fresh.First, b.First)
	require.Len(t, b.Steps, 1)
}

// Promise: evaluations that do not fit the groups are a bug, said so.
func TestCountMismatch(t *testing.T) {
	_, err := align.Join(align.DefaultConfig(), group(episode("a", 1)), nil, reward.ByAssistant)
	require.ErrorIs(t, err, fault.Of("", fault.Internal))
}

// Promise: steps of a file that do not fit their conversation are caught.
func TestStepsThatDoNotFit(t *testing.T) {
	for name, spoil := range map[string]func(*rl.Trajectory){
		"beyond the end": func(t *rl.Trajectory) { t.Steps[1].MessageCount = 99 },
		"a user message": func(t *rl.Trajectory) { t.Steps[1].MessageCount = 4 },
		"not in order":   func(t *rl.Trajectory) { t.Steps[1].MessageCount = 3 },
		"negative":       func(t *rl.Trajectory) { t.Steps[1].MessageCount = -1 },
	} {
		tr := episode("t", 2)
		spoil(tr)
		b, err := align.Join(align.Config{MaxUnscored: 1}, group(tr), []reward.Evaluation{scored(1)}, reward.ByAssistant)
		require.NoError(t, err)
		require.Equal(t, reward.Unaligned, b.Evaluations[0].Outcome, name)
		require.Contains(t, b.Evaluations[0].Reason, "trajectory t: step 1 names", name)
	}
}

// Promise: a wrong config says everything at once, each with its key.
func TestConfig(t *testing.T) {
	require.Empty(t, align.DefaultConfig().Validate())
	var keys []string
	for _, err := range (align.Config{StepScores: "sums", DefaultStepReward: math.NaN(), EnvRewardWeight: math.Inf(1), MaxUnscored: math.NaN()}).Validate() {
		keys = append(keys, fault.As(err).Where)
	}
	require.ElementsMatch(t, []string{"default_step_reward", "env_reward_weight", "max_unscored", "step_scores"}, keys)
}

func many(trajectories, steps int) ([]*rl.Group, []reward.Evaluation) {
	var g rl.Group
	var evaluations []reward.Evaluation
	for i := range trajectories {
		g.Trajectories = append(g.Trajectories, episode(fmt.Sprint(i), steps))
		outputs := make([]rl.StepOutput, steps)
		for k := range outputs {
			outputs[k] = step(k, 1)
		}
		evaluations = append(evaluations, scored(1, outputs...))
	}
	return []*rl.Group{&g}, evaluations
}

// BenchmarkFill shows a cost that is linear in rows.
func BenchmarkFill(b *testing.B) {
	for _, rows := range []int{10_240, 102_400} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			groups, evaluations := many(rows/20, 20)
			var batch align.Batch
			b.ReportAllocs()
			for b.Loop() {
				if err := batch.Fill(align.DefaultConfig(), groups, evaluations, reward.ByAssistant); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

// fill gives rows the columns that these trajectories have not.
func fill(rows *advantage.Rows) {
	rows.Role, rows.Greedy = make([]string, rows.Len()), make([]float64, rows.Len())
	score := rows.AddReward("score", 1)
	for i := range rows.Role {
		rows.Role[i], score[i] = "agent", rows.Score[i]
	}
}

// Promise: rewards that were added up reach the rows one by one, with their weights and with
// the environment's; a reward without a score leaves its trajectory out, and is never 0.
func TestSeveralRewards(t *testing.T) {
	one, half := 1.0, 0.5
	both := func(right, form float64) reward.Evaluation {
		e := scored(right + form/2)
		e.Result.Metrics = rl.Metrics{
			{Name: "right", Score: right, IsScoreValid: true, Weight: &one},
			{Name: "right/length", Score: 7, IsScoreValid: true},
			{Name: "form", Score: form, IsScoreValid: true, Weight: &half},
		}
		return e
	}
	failed := both(1, 1)
	failed.Result.Metrics[2].IsScoreValid = false
	groups := group(episode("a", 1), episode("b", 2), episode("c", 1))
	cfg := align.Config{EnvRewardWeight: 0.25, MaxUnscored: 0.5}
	b, err := align.Join(cfg, groups, []reward.Evaluation{both(1, 0), both(0, 1), failed}, reward.ByAssistant)
	require.NoError(t, err)
	require.Equal(t, reward.Invalid, b.Evaluations[2].Outcome)
	require.Equal(t, `reward "form" has no score`, b.Evaluations[2].Reason)
	require.Len(t, b.Rows.Rewards, 3)
	for k, want := range []struct {
		name   string
		weight float64
		scores []float64
	}{{"right", 1, []float64{1, 0, 0}}, {"form", 0.5, []float64{0, 1, 1}}, {"environment", 0.25, []float64{0, 1, 1}}} {
		got := b.Rows.Rewards[k]
		require.Equal(t, want.name, got.Name)
		require.Equal(t, want.weight, got.Weight)
		require.Equal(t, want.scores, got.Score[:3])
		require.True(t, math.IsNaN(got.Score[3]))
	}
}

// Promise: a step's role is what the environment or the recording said, or the name of the
// message that acted; greedy scores reach the rows of their group.
func TestRolesAndGreedyScores(t *testing.T) {
	a, greedy := episode("a", 3), 0.5
	a.Steps[0].Info = map[string]json.RawMessage{"role": []byte(`"seller"`), "agent": []byte(`"x"`)}
	a.Steps[1].Info = map[string]json.RawMessage{"agent": []byte(`"buyer"`)}
	a.Messages[a.Steps[2].MessageCount].Name = "judge"
	a.GreedyScore = &greedy
	b, err := align.Join(align.DefaultConfig(), group(a), []reward.Evaluation{scored(1)}, reward.ByAssistant)
	require.NoError(t, err)
	require.Equal(t, []string{"seller", "buyer", "judge"}, b.Rows.Role)
	require.Equal(t, []float64{0.5, 0.5, 0.5}, b.Rows.Greedy)
}

// Promise: a branch is joined with the episode that it left, and one that does not fit has no
// score and says why.
func TestBranches(t *testing.T) {
	cases := []struct {
		name   string
		of     string
		at     int
		change func(*rl.Trajectory)
		want   string
	}{
		{"at the second step", "a", 1, nil, ""},
		{"at the start", "a", 0, nil, ""},
		{"of nothing", "x", 1, nil, `trajectory b: it branches off "x", which does not precede it in its group`},
		{"of itself", "b", 1, nil, `trajectory b: it branches off "b", which does not precede it in its group`},
		{"behind the end", "a", 3, nil, `trajectory b: it branches off "a" at step 3, but they have 3 and 3 steps`},
		{"with other steps before", "a", 2, func(t *rl.Trajectory) { t.Steps[1].Anchor = "elsewhere" }, `trajectory b: it branches off "a" at step 2, but differs from it at step 1`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, branch := episode("a", 3), episode("b", 3)
			branch.BranchOf, branch.BranchAt = c.of, c.at
			if c.change != nil {
				c.change(branch)
			}
			b, err := align.Join(align.Config{MaxUnscored: 1}, group(a, branch), []reward.Evaluation{scored(1), scored(2)}, "")
			require.NoError(t, err)
			require.Equal(t, []int32{-1, -1, -1}, b.Rows.BranchOf[:3])
			if c.want != "" {
				require.Equal(t, reward.Unaligned, b.Evaluations[1].Outcome)
				require.Equal(t, c.want, b.Evaluations[1].Reason)
				require.Equal(t, []bool{true, true, true, false, false, false}, b.Rows.Scored)
				return
			}
			at := int32(c.at)
			require.Equal(t, []int32{0, 0, 0}, b.Rows.BranchOf[3:])
			require.Equal(t, []int32{at, at, at}, b.Rows.BranchAt[3:])
		})
	}
}
