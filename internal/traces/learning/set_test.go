package learning_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	nets "github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	rewards "github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/learning"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// shelf is traces in memory.
type shelf []*trace.Trace

func (s shelf) Trace(_ context.Context, id string) (*trace.Trace, error) {
	for _, t := range s {
		if t.ID == id {
			return t, nil
		}
	}
	return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, Where: id, What: "there is no such trace"}
}

func (s shelf) Each(_ context.Context, q trace.Query, f func(*trace.Trace) error) error {
	for _, t := range s {
		if q.Matches(&t.Head, t.Agents()) {
			if err := f(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// chat is a trace in which agents answer in turn, "agent answer" each with a
// chance of a half, and the whole has a score.
func chat(id, task string, score float64, turns ...[2]string) *trace.Trace {
	t := &trace.Trace{Head: trace.Head{ID: id, Task: task, Start: began, Status: trace.StatusOK}}
	question := rl.Message{Role: rl.RoleUser, Content: rl.Text("question of " + task)}
	history := []rl.Message{question}
	for i, turn := range turns {
		at := began.Add(time.Duration(i) * time.Second)
		answer := rl.Message{Role: rl.RoleAssistant, Content: rl.Text(turn[1])}
		token := int32(100 + i)
		var prompt []int32
		for k := range len(history) {
			prompt = append(prompt, int32(k))
		}
		t.All = append(t.All, trace.Span{
			Trace: id, ID: fmt.Sprintf("%s-%d", id, i), Agent: turn[0], Kind: trace.KindPrompt, Start: at, End: at, Status: trace.StatusOK,
			Prompt: &trace.Prompt{
				Messages: history, Answer: &answer, Settings: json.RawMessage(`{"guided_choice":["left","right"]}`),
				PromptTokens: prompt, Tokens: []trace.Token{{ID: &token, Text: turn[1], LogProb: math.Log(0.5)}},
			},
		})
		history = append(append([]rl.Message{}, history...), answer, rl.Message{Role: rl.RoleUser, Content: rl.Text(fmt.Sprintf("and %d?", i))})
	}
	t.All = append(t.All, reward(id, "", "whole", 100, score))
	return t
}

func reward(id, of, name string, second int, score float64) trace.Span {
	at := began.Add(time.Duration(second) * time.Second)
	return trace.Span{
		Trace: id, ID: "reward-" + of + name, Kind: trace.KindReward, Name: name, Start: at, End: at, Status: trace.StatusOK,
		Reward: &trace.Reward{Of: of, Outcome: "scored", Score: &score},
	}
}

// plays is traces of many tasks, each done four times, well in half of them.
func plays(tasks int) (s shelf) {
	for i := range tasks {
		for k := range 4 {
			answer := []string{"left", "right"}[k%2]
			s = append(s, chat(fmt.Sprintf("t%d-%d", i, k), fmt.Sprintf("task%d", i), float64(k%2), [2]string{"a", answer}, [2]string{"b", "left"}))
		}
	}
	return s
}

func options(change func(*learning.Config)) learning.Reading {
	cfg := learning.DefaultConfig()
	cfg.Query = learning.All
	if change != nil {
		change(&cfg)
	}
	return learning.Reading{Config: cfg, Now: began.Add(48 * time.Hour), Chooses: true, Scored: true}
}

func credited(t *testing.T, s *learning.Set, n int) *credit.Batch {
	groups, err := s.Draw(t.Context(), n, 7, 1000, 4)
	require.NoError(t, err)
	cfg := advantage.Default()
	cfg.Estimator = "lightning"
	p := credit.Pipeline{Rewards: rewards.NewPool([]rewards.Weighted{{Scorer: learning.Recorded{}, Weight: 1}}, 1), Align: align.DefaultConfig(), Advantage: &cfg}
	b, err := p.Run(t.Context(), groups)
	require.NoError(t, err)
	return b
}

// Promise: every answered call is a step with its trace's credit, however many
// calls a trace has; traces are compared, not calls.
func TestEveryCallHasItsTracesCredit(t *testing.T) {
	all := plays(40)
	all[0] = chat("t0-0", "task0", 0, [2]string{"a", "left"}, [2]string{"b", "left"}, [2]string{"a", "right"}, [2]string{"b", "right"}, [2]string{"a", "left"})
	s, err := learning.Read(t.Context(), all, options(nil))
	require.NoError(t, err)
	require.Equal(t, []string{"left", "right"}, s.Choices())
	b := credited(t, s, 1)
	for i, tr := range b.Trajectories {
		require.Equal(t, "scored", tr.Outcome)
		for k := range tr.Steps {
			require.InDelta(t, tr.Evaluation.Score-0.5, b.Credit.Advantage[b.First[i]+k], 1e-12, "two of four did well: the mean is a half whatever their length")
			require.Equal(t, rl.ActionChoice, tr.Steps[k].Action.Kind)
			require.InDelta(t, math.Log(0.5), tr.Steps[k].LogProb, 1e-12)
		}
	}
}

// Promise: what another agent said is in the trajectory and is not learnt from.
func TestOneAgentLearns(t *testing.T) {
	s, err := learning.Read(t.Context(), plays(40), options(func(c *learning.Config) { c.Agents = []string{"a"} }))
	require.NoError(t, err)
	b := credited(t, s, 1)
	e, off, err := s.Experience(t.Context(), network(t), b)
	require.NoError(t, err)
	learnt := 0
	for i, step := range b.Steps {
		require.Equal(t, string(step.Info["agent"]) == `"a"`, e.Weight[i] > 0)
		if e.Weight[i] > 0 {
			learnt++
		}
	}
	require.Equal(t, off.Decisions, learnt)
	require.Equal(t, 160, s.About().Skipped["another agent"])
}

// Promise: importance multiplies by how much likelier the decision is now, within
// its bound, and leaves the batch as it was; clone needs no probability and
// weighs what did better more.
func TestCorrections(t *testing.T) {
	p := network(t) // untrained: each choice about as likely
	s, err := learning.Read(t.Context(), plays(40), options(func(c *learning.Config) { c.MaxRatio = 1.0001 }))
	require.NoError(t, err)
	b := credited(t, s, 1)
	before := b.Steps[0].LogProb
	e, off, err := s.Experience(t.Context(), p, b)
	require.NoError(t, err)
	require.Positive(t, off.Bounded, "an untrained network is not quite uniform")
	for i, tr := range e.Trajectories {
		for k := range tr.Steps {
			want := math.Exp(tr.Steps[k].LogProb - math.Log(0.5))
			require.InDelta(t, min(want, 1.0001), e.Weight[e.First[i]+k], 1e-9)
		}
	}
	require.Equal(t, before, b.Steps[0].LogProb)

	all := plays(40)
	for _, tr := range all {
		for i := range tr.All {
			if c := tr.All[i].Prompt; c != nil {
				c.Tokens = nil
			}
		}
	}
	_, err = learning.Read(t.Context(), all, options(nil))
	require.ErrorContains(t, err, "without log-probabilities")
	s, err = learning.Read(t.Context(), all, options(func(c *learning.Config) { c.Method = learning.Clone }))
	require.NoError(t, err)
	b = credited(t, s, 1)
	e, _, err = s.Experience(t.Context(), p, b)
	require.NoError(t, err)
	for i, a := range b.Credit.Advantage {
		require.InDelta(t, math.Exp(a/0.5), e.Advantage[i], 1e-9, "the root mean square of the advantages is a half")
	}
}

// Promise: a language model learns the tokens that it was given and sampled, of
// the calls that have them.
func TestTokens(t *testing.T) {
	all := plays(40)
	all[5].All[0].Prompt.PromptTokens = nil
	o := options(nil)
	o.Chooses = false
	s, err := learning.Read(t.Context(), all, o)
	require.NoError(t, err)
	require.Equal(t, 1, s.About().Skipped["no token ids"])
	e, _, err := s.Experience(t.Context(), nil, credited(t, s, 1))
	require.NoError(t, err)
	sequences, err := e.Sequences()
	require.NoError(t, err)
	require.NotEmpty(t, sequences)
	for _, q := range sequences {
		for i := range q.Tokens {
			if q.Sampled[i] == 1 {
				require.GreaterOrEqual(t, q.Tokens[i], int32(100))
				require.InDelta(t, math.Log(0.5), q.LogProb[i], 1e-6)
			}
		}
	}
}

// parrot is a language model whose tokens are bytes, and which imitates.
type parrot struct {
	tokens
	context int
}

func (*parrot) Spec() policy.Spec { return policy.Spec{Name: "parrot", Learns: true, Imitates: true} }

func (p *parrot) Act(_ context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	for i, o := range observations {
		d := policy.Decision{}
		for k, m := range o.Messages {
			for _, c := range []byte(m.Content.Text() + "\n") {
				if k < len(o.Messages)-1 {
					d.Prompt = append(d.Prompt, int32(c))
				} else {
					d.Tokens = append(d.Tokens, rl.Token{ID: int32(c)})
				}
			}
		}
		if len(d.Prompt) > p.context {
			d = policy.Decision{Stop: rl.StopContext}
		}
		decisions[i] = d
	}
	return nil
}

// Promise: a language model that clones needs no token ids: the answers become its tokens,
// calls of a trace that extend each other are one sequence, and a call reads exactly what it was
// sent, whatever other agents said. A policy that cannot imitate is refused.
func TestTextBecomesTokens(t *testing.T) {
	all := plays(40)
	for _, x := range all {
		for i := range x.All {
			if p := x.All[i].Prompt; p != nil {
				p.PromptTokens, p.Tokens = nil, nil
			}
		}
	}
	all[0].All[1].Agent = "a" // otherwise the second call is that of another agent, who was sent all
	all[50].All[1].Prompt.Messages = []rl.Message{{Role: rl.RoleUser, Content: rl.Text("Do it.")}}
	o := options(func(c *learning.Config) { c.Method = learning.Clone })
	o.Chooses = false
	s, err := learning.Read(t.Context(), all, o)
	require.NoError(t, err)
	require.Empty(t, s.About().Skipped)
	b := credited(t, s, 1)
	e, stats, err := s.Experience(t.Context(), &parrot{context: 1000}, b)
	require.NoError(t, err)
	require.NotZero(t, stats.Weight)
	require.True(t, e.Imitate)
	sequences, err := e.Sequences()
	require.NoError(t, err)
	require.Equal(t, len(b.Trajectories)+1, len(sequences), "the two calls of a trace are one sequence, but for those of one trace")
	for _, q := range sequences {
		require.True(t, q.Imitate)
		var text, learnt []byte
		for i, id := range q.Tokens {
			text = append(text, byte(id))
			if q.Sampled[i] == 1 {
				learnt = append(learnt, byte(id))
				require.Positive(t, q.Advantage[i])
			}
			require.Zero(t, q.LogProb[i])
		}
		if !strings.HasSuffix(q.Trajectory, all[50].ID) {
			require.Regexp(t, `^question of task\d+\n(left|right)\nand 0\?\nleft\n$`, string(text))
			require.Regexp(t, `^(left|right)\nleft\n$`, string(learnt))
		}
	}
	require.Nil(t, b.Trajectories[0].Steps[0].Tokens, "the batch does not change")

	_, _, err = s.Experience(t.Context(), &tokens{}, b)
	require.ErrorContains(t, err, "the policy cannot imitate answers of others")
	_, _, err = s.Experience(t.Context(), &parrot{context: 20}, b)
	require.ErrorContains(t, err, "is longer than the model's context")
}

// Promise: answers that are all as good, such as those of chats that a constant reward scores, are
// imitated alike.
func TestEqualAnswersWeighTheSame(t *testing.T) {
	var all shelf
	for i := range 40 {
		id := fmt.Sprintf("t%d", i)
		all = append(all, chat(id+"-0", "task"+id, 1, [2]string{"a", []string{"left", "right"}[i%2]}))
	}
	o := options(func(c *learning.Config) { c.Method = learning.Clone })
	o.Chooses = false
	s, err := learning.Read(t.Context(), all, o)
	require.NoError(t, err)
	e, stats, err := s.Experience(t.Context(), &parrot{context: 1000}, credited(t, s, 1))
	require.NoError(t, err)
	require.Equal(t, 1.0, stats.Weight)
	for i := range e.Advantage {
		require.Equal(t, 1.0, e.Advantage[i])
		require.Equal(t, 1.0, e.Weight[i])
	}
}

// Promise: a task is in one split whatever else is recorded, and what an
// iteration draws is a function of its number and the seed.
func TestSplitsAndDraws(t *testing.T) {
	few, err := learning.Read(t.Context(), plays(40), options(nil))
	require.NoError(t, err)
	many, err := learning.Read(t.Context(), plays(80), options(nil))
	require.NoError(t, err)
	splits := map[string]string{}
	for _, line := range many.Index() {
		splits[line.Group] = line.Split
	}
	for _, line := range few.Index() {
		require.Equal(t, splits[line.Group], line.Split)
	}
	seen := map[string]int{}
	for n := 1; n <= 3; n++ {
		one, err := many.Draw(t.Context(), n, 7, 10, 3)
		require.NoError(t, err)
		two, err := many.Draw(t.Context(), n, 7, 10, 3)
		require.NoError(t, err)
		require.Equal(t, one, two)
		for _, g := range one {
			require.Len(t, g.Trajectories, 3)
			require.Equal(t, "train", splits[g.Task.ID])
			seen[g.Task.ID]++
		}
	}
	require.Len(t, seen, 30, "no task comes twice before all have come")
}

// copies returns the traces of plays(n), and of each task one more under another name, whose
// question differs in case and white space, recorded later.
func copies(n int) shelf {
	all := plays(n)
	for i := range n {
		task := fmt.Sprintf("task%d", i)
		t := chat("copy-"+task, task, 1, [2]string{"a", "left"})
		t.Task, t.Start = "another "+task, t.Start.Add(time.Hour)
		for k := range t.All {
			if p := t.All[k].Prompt; p != nil {
				p.Messages = slices.Clone(p.Messages)
				p.Messages[0].Content = rl.Text("  QUESTION of\n" + task + " ")
			}
		}
		all = append(all, t)
	}
	return all
}

// Promise: tasks with the same content are in one split, whatever they are called and in
// whatever order they come, and the other tasks stay where they were; a run of an earlier
// version, which went by the name, resumes as it began.
func TestSplitsByContent(t *testing.T) {
	splits := func(s *learning.Set) map[string]string {
		out := map[string]string{}
		for _, line := range s.Index() {
			out[line.Group] = line.Split
		}
		return out
	}
	plain, err := learning.Read(t.Context(), plays(80), options(nil))
	require.NoError(t, err)
	all := copies(80)
	set, err := learning.Read(t.Context(), all, options(nil))
	require.NoError(t, err)
	require.Equal(t, 80, set.About().Joined)
	about := set.About()
	require.Contains(t, about.String(), "; 80 tasks have the same input as another one, and are in its split")
	got := splits(set)
	for task, split := range splits(plain) {
		require.Equal(t, []string{split, split}, []string{got[task], got["another "+task]}, task)
	}
	slices.Reverse(all)
	turned, err := learning.Read(t.Context(), all, options(nil))
	require.NoError(t, err)
	require.Equal(t, got, splits(turned))

	byTask, err := learning.Read(t.Context(), all, options(func(c *learning.Config) { c.SplitBy = "task" }))
	require.NoError(t, err)
	require.Zero(t, byTask.About().Joined)
	apart := 0
	for task, split := range splits(plain) {
		require.Equal(t, split, splits(byTask)[task])
		if splits(byTask)["another "+task] != split {
			apart++
		}
	}
	require.Positive(t, apart)
}

// Promise: scores of calls and of their tools are rewards of their steps; a trace
// whose reward failed has its outcome and no number, and one that nobody scored
// is left out and counted.
func TestRecordedRewards(t *testing.T) {
	all := plays(40)
	all[0].All = append(all[0].All, reward("t0-0", "t0-0-1", "tool", 101, -1), reward("t0-0", "t0-0-1", "style", 102, 0.25))
	failed := reward("t1-0", "", "whole", 100, 0)
	failed.Reward.Outcome, failed.Reward.Score = "trap", nil
	all[4].All[len(all[4].All)-1] = failed
	all[8].All = all[8].All[:2]
	s, err := learning.Read(t.Context(), all, options(nil))
	require.NoError(t, err)
	require.Equal(t, 1, s.About().Unscored)
	for _, line := range s.Index() {
		switch line.Trace {
		case "t1-0":
			require.Equal(t, "trap", line.Outcome)
			require.Nil(t, line.Score)
		case "t2-0":
			t.Error("a trace without a reward is there")
		}
	}
	checked := 0
	for _, split := range []string{"train", "validation", "test"} {
		groups, err := s.HeldOut(t.Context(), split, 1000)
		require.NoError(t, err)
		for _, g := range groups {
			e := learning.Recorded{}.Evaluate(t.Context(), g.Trajectories[0])
			switch g.ID {
			case split + "-t0-0":
				require.Equal(t, []rl.StepOutput{{StepIndex: rl.StepIndex(g.Trajectories[0].Steps[1].MessageCount), BaseReward: -0.75}}, e.Result.StepOutputs)
				checked++
			case split + "-t1-0":
				require.EqualValues(t, "trap", e.Outcome)
				checked++
			}
		}
	}
	require.Equal(t, 2, checked)
}

// Promise: the reward of a run of a tool reaches the call that asked for it, though another agent's
// call came between them.
func TestToolRewardsReachTheirCall(t *testing.T) {
	all := plays(40)
	asked := *all[0].All[0].Prompt.Answer
	asked.ToolCalls = []rl.ToolCall{{ID: "c1", Type: "function", Function: rl.FunctionCall{Name: "miles", Arguments: "{}"}}}
	all[0].All[0].Prompt.Answer = &asked
	at := all[0].All[1].Start.Add(time.Millisecond)
	tool := trace.Span{Trace: "t0-0", ID: "ran", Agent: "a", Kind: trace.KindTool, Name: "miles", Start: at, End: at, Status: trace.StatusOK, Tool: &trace.Tool{CallID: "c1"}}
	all[0].All = append(all[0].All, tool, reward("t0-0", "ran", "tool", 101, 0.5))
	trace.Order(all[0].All)
	s, err := learning.Read(t.Context(), all, options(nil))
	require.NoError(t, err)
	found := false
	for _, split := range []string{"train", "validation", "test"} {
		groups, err := s.HeldOut(t.Context(), split, 1000)
		require.NoError(t, err)
		for _, g := range groups {
			if g.ID == split+"-t0-0" {
				one := g.Trajectories[0]
				e := learning.Recorded{}.Evaluate(t.Context(), one)
				require.Equal(t, []rl.StepOutput{{StepIndex: rl.StepIndex(one.Steps[0].MessageCount), BaseReward: 0.5}}, e.Result.StepOutputs)
				found = true
			}
		}
	}
	require.True(t, found)
}

// Promise: held-out traces weigh as much more as the policy makes their decisions
// likelier, over all calls of a trace.
func TestWeigh(t *testing.T) {
	s, err := learning.Read(t.Context(), plays(40), options(nil))
	require.NoError(t, err)
	groups, err := s.HeldOut(t.Context(), "test", 1000)
	require.NoError(t, err)
	var all []*rl.Trajectory
	for _, g := range groups {
		all = append(all, g.Trajectories...)
	}
	weights, err := s.Weigh(t.Context(), network(t), all)
	require.NoError(t, err)
	for _, w := range weights {
		require.InDelta(t, 1, w, 0.2, "an untrained network decides nearly as who was recorded did")
	}
	weights, err = s.Weigh(t.Context(), mute{}, all)
	require.NoError(t, err)
	require.Nil(t, weights)
}

// mute is a policy that cannot say how likely a decision is.
type mute struct{ policy.Policy }

func network(t *testing.T) *nets.Policy {
	p, err := nets.NewPolicy(nets.DefaultPolicyConfig(), nets.Input{Actions: []string{"left", "right"}}, 1)
	require.NoError(t, err)
	return p
}
