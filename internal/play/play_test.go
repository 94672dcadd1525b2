package play_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/play"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
	"github.com/merit-rl/merit/sdk/plugin"
)

// path is an environment: walk along seven cells in twelve steps, against a wind that the seed
// decides. A jump in the cell pit ends all progress. If spoken, actions are text.
type path struct {
	pit    int
	spoken bool
}

func (p path) Spec() plugin.Spec {
	s := plugin.Spec{MaxSteps: 12, System: "Walk to the end."}
	if !p.spoken {
		s.Actions, s.FeatureShape = []string{"walk", "jump"}, []int{1}
	}
	return s
}

func (p path) NewSlot() (plugin.Slot, error) { return &walker{path: p}, nil }

type walker struct {
	path
	seed      rl.Seed
	at, steps int
	lost      bool
}

func (w *walker) Reset(seed uint64, turn *plugin.Turn) error {
	*w = walker{path: w.path, seed: rl.Seed(seed)}
	w.show(turn)
	return nil
}

func (w *walker) Step(action plugin.Action, turn *plugin.Turn) error {
	jumped := action.Index == 1 || action.Text == "jump"
	w.lost = w.lost || jumped && w.at == w.pit
	w.steps++
	if !w.lost && w.seed.Child(uint64(w.steps)).Uniform() < 0.8 {
		w.at++
	}
	turn.Terminated = w.at == 7
	turn.Truncated = !turn.Terminated && w.steps == 12
	w.show(turn)
	return nil
}

func (w *walker) show(turn *plugin.Turn) {
	turn.Anchor = fmt.Appendf(turn.Anchor, "cell %d, step %d, lost %v", w.at, w.steps, w.lost)
	if turn.Features != nil {
		turn.Features[0] = float32(w.at)
	}
}

// jumper walks with probability 0.9, and jumps otherwise. If spoken, it answers as a language
// model does: with text, the tokens it was given and those of the answer.
type jumper struct {
	spoken bool
	heard  func(o policy.Observation)
}

const walks = 0.9

func (j jumper) Act(_ context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	for i, o := range observations {
		choice, word := 0, "walk"
		if o.Seed.Uniform() >= walks {
			choice, word = 1, "jump"
		}
		decisions[i] = policy.Decision{Action: rl.Action{Kind: rl.ActionChoice, Choice: choice}, LogProb: math.Log(walks)}
		if j.spoken {
			decisions[i] = policy.Decision{Raw: word, Prompt: append(o.Tokens, int32(len(o.Messages))), Tokens: []rl.Token{{ID: int32(choice)}}}
		}
		if j.heard != nil {
			j.heard(o)
		}
	}
	return nil
}

func (jumper) Version() uint64 { return 0 }

func (jumper) Rate(_ context.Context, _ []policy.Observation, decisions []policy.Decision) error {
	for i := range decisions {
		p := []float64{walks, 1 - walks}[decisions[i].Action.Choice]
		decisions[i].LogProb, decisions[i].Value, decisions[i].HasValue = math.Log(p), 0.5, true
	}
	return nil
}

// arrived is 1 for an episode that ended at the end of the path.
type arrived struct{}

func (arrived) Info() reward.Info {
	return reward.Info{Name: "arrived", StepIndexing: reward.ByAssistant}
}

func (arrived) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	e := reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true}}
	if t.StopReason == rl.StopTerminated {
		e.Result.Score = 1
	}
	return e
}

// session opens the environment, with a number of workers and slots.
func session(t *testing.T, p path, workers, slots int) *merit.Session {
	cfg := merit.DefaultConfig()
	cfg.Rollout.Parallel, cfg.Rollout.Groups, cfg.Rollout.Members = workers, 1, 40
	open := func(context.Context, string, int) (env.Env, error) {
		d := plugin.Definition[struct{}]{Name: "path", Version: "1.0.0", New: func(plugin.Setup, struct{}) (plugin.Environment, error) { return p, nil }}
		return d.Open(plugin.Setup{Slots: slots}, nil)
	}
	s, err := merit.Open(t.Context(), cfg, merit.WithEnvironment(open), merit.WithScorer(arrived{}, 1))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// record returns an episode of 40 that ended in the pit, and one that arrived.
func record(t *testing.T, s *merit.Session, p policy.Policy) (lost, won *rl.Trajectory) {
	_, err := s.Rollout(t.Context(), merit.RolloutOptions{Policy: p}, func(e *rl.Trajectory) error {
		if e.Evaluation.Score == 0 && in(&e.Steps[len(e.Steps)-1], "cell 3, ", "lost true") {
			lost = e
		} else if e.Evaluation.Score == 1 {
			won = e
		}
		return nil
	})
	require.NoError(t, err)
	require.NotNil(t, lost)
	require.NotNil(t, won)
	return lost, won
}

func player(t *testing.T, s *merit.Session, p policy.Policy, keep func(*rl.Trajectory) error) *play.Player {
	g, err := play.New(play.Options{Session: s, Policy: p, Split: "train", Continuations: 100, Keep: keep})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// in reports whether the state before a step begins and ends with these texts.
func in(s *rl.Step, begin, end string) bool {
	return strings.HasPrefix(s.Anchor, begin) && strings.HasSuffix(s.Anchor, end)
}

// pitStep returns the step at which an episode jumped into the pit.
func pitStep(t *testing.T, e *rl.Trajectory) int {
	for i := range e.Steps {
		if s := &e.Steps[i]; in(s, "cell 3, ", "lost false") && play.Action(s) == "jump" {
			return i
		}
	}
	require.Fail(t, "the episode did not jump into the pit")
	return 0
}

// Promise: the step at which an episode was lost is named, its loss is the difference that the
// action makes, and another action there is as good as the policy's continuations of it; all
// of it is the same with any number of workers and slots.
func TestLostAtThePit(t *testing.T) {
	var first *play.Curve
	for _, size := range [][2]int{{1, 1}, {3, 7}} {
		s := session(t, path{pit: 3}, size[0], size[1])
		lost, won := record(t, s, jumper{})
		step := pitStep(t, lost)
		p := player(t, s, jumper{}, nil)
		g, err := p.Open(t.Context(), lost)
		require.NoError(t, err)
		require.Equal(t, []string{"walk", "jump"}, g.Seen[0].Available)
		require.InDeltaSlice(t, []float64{walks, 1 - walks}, g.Seen[0].P, 1e-12)
		require.Equal(t, 0.5, *g.Seen[0].Value)

		c, err := g.Curve(t.Context())
		require.NoError(t, err)
		require.Equal(t, play.Success, c.Measure)
		require.Equal(t, step, c.Lost.Step)
		require.Equal(t, "jump", c.Lost.Action)
		require.Equal(t, 0.0, c.Lost.To)
		require.Equal(t, -c.Lost.From, c.Lost.Change.Mean)
		require.Nil(t, c.Won)

		repeated := g.Repeated
		f, err := g.Fork(t.Context(), step, nil)
		require.NoError(t, err)
		require.Len(t, f.Branches, 3)
		require.Equal(t, "jump", f.Branches[0].Action)
		require.Equal(t, 0.0, f.Branches[0].Success.Mean)
		require.Equal(t, "walk", f.Branches[1].Action)
		require.Equal(t, c.Points[step].Success, f.Branches[2].Success, "the policy's own choice is what the curve plays")
		better, worse := f.Best()
		require.Equal(t, "walk", better.Action)
		require.Nil(t, worse)
		require.InDelta(t, walks, f.Branches[2].Success.Mean/f.Branches[1].Success.Mean, 0.1)
		require.Equal(t, repeated+100*step, g.Repeated, "only walk is new")

		total := c.Points[0].Score.Mean
		for i, row := range c.Rows(lost) {
			require.Equal(t, i, row.Step)
			total += *row.Reward
		}
		require.InDelta(t, 0, total, 1e-12)

		g, err = p.Open(t.Context(), won)
		require.NoError(t, err)
		d, err := g.Curve(t.Context())
		require.NoError(t, err)
		require.Nil(t, d.Lost)
		require.Equal(t, 1.0, d.At(len(won.Steps)))
		if first == nil {
			first = c
		}
		require.Equal(t, first, c)
	}
}

// Promise: an environment that does not repeat the recording is an error that names the episode
// and the step.
func TestAnotherEnvironment(t *testing.T) {
	lost, _ := record(t, session(t, path{pit: 3}, 1, 8), jumper{})
	for name, c := range map[string]struct {
		spoil func(e *rl.Trajectory)
		where int
		what  string
	}{
		"another state":  {func(e *rl.Trajectory) { e.Steps[4].Anchor = "elsewhere" }, 4, "recorded state"},
		"another text":   {func(e *rl.Trajectory) { e.Messages[e.Steps[2].MessageCount-1].Content = rl.Text("nothing") }, 2, "recorded user"},
		"another reward": {func(e *rl.Trajectory) { e.Steps[1].EnvReward = 1 }, 1, "recorded reward 1"},
		"another end":    {func(e *rl.Trajectory) { e.Steps[5].Terminated = true }, 5, "ends at another step"},
		"another seed":   {func(e *rl.Trajectory) { e.Seed++ }, -1, "recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			e := *lost
			e.Steps, e.Messages = append([]rl.Step(nil), lost.Steps...), append([]rl.Message(nil), lost.Messages...)
			c.spoil(&e)
			_, err := player(t, session(t, path{pit: 3}, 1, 8), jumper{}, nil).Open(t.Context(), &e)
			require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Differs))
			require.ErrorContains(t, err, c.what)
			if c.where >= 0 {
				require.Equal(t, fmt.Sprintf("%s step %d", e.ID, c.where), fault.As(err).Where)
			}
		})
	}
}

// Promise: what cannot be continued is refused, and so is an action that is not available.
func TestRefused(t *testing.T) {
	s := session(t, path{pit: 3}, 1, 8)
	lost, _ := record(t, s, jumper{})
	p := player(t, s, jumper{}, nil)
	for what, e := range map[string]*rl.Trajectory{
		"has no steps": {ID: "a", Messages: lost.Messages, Seed: 1},
		"has no seed":  {ID: "a", Messages: lost.Messages, Steps: lost.Steps},
		"messages":     {ID: "a", Messages: lost.Messages[:3], Steps: lost.Steps, Seed: lost.Seed},
	} {
		_, err := p.Open(t.Context(), e)
		require.ErrorContains(t, err, what)
	}
	g, err := p.Open(t.Context(), lost)
	require.NoError(t, err)
	played := g.Played
	_, err = g.Fork(t.Context(), 2, []string{"jump", "fly", "swim"})
	require.ErrorContains(t, err, `the action "fly" is not available`)
	require.ErrorContains(t, err, `the action "swim" is not available`)
	require.Equal(t, "use one of walk, jump", fault.As(err).Hint)
	require.Equal(t, played, g.Played, "nothing is played before all actions are known to be available")
}

// mumbler is a language model that plays by name, and sometimes answers without an action.
type mumbler struct{ jumper }

func (m mumbler) Act(ctx context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	if err := m.jumper.Act(ctx, observations, decisions); err != nil {
		return err
	}
	for i, o := range observations {
		raw := o.Actions[decisions[i].Action.Choice]
		if o.Seed.Child(1).Uniform() < 0.2 {
			raw = "hm"
		}
		decisions[i] = policy.Decision{Raw: raw}
	}
	return nil
}

// Promise: answers without an action are repeated too, with what the model is told about them.
func TestAnswersWithoutAnAction(t *testing.T) {
	for _, explains := range []bool{false, true} {
		s := session(t, path{pit: 3}, 1, 8)
		s.Config.Rollout.Action.Explain = explains
		lost, _ := record(t, s, mumbler{})
		held := slices.IndexFunc(lost.Steps, func(s rl.Step) bool { return s.Held })
		require.GreaterOrEqual(t, held, 0)
		g, err := player(t, s, mumbler{}, nil).Open(t.Context(), lost)
		require.NoError(t, err)
		c, err := g.Curve(t.Context())
		require.NoError(t, err)
		require.Equal(t, pitStep(t, lost), c.Lost.Step)
		require.Equal(t, 0.0, c.Points[held].Change.Mean, "an answer without an action changes nothing but the time left")
	}
}

// Promise: in a conversation, the policy continues from the recorded messages and tokens, and
// what a person says is marked in the trajectory.
func TestConversation(t *testing.T) {
	s := session(t, path{pit: 3, spoken: true}, 1, 8)
	lost, _ := record(t, s, jumper{spoken: true})
	step := pitStep(t, lost)
	var kept []*rl.Trajectory
	heard := false
	j := jumper{spoken: true, heard: func(o policy.Observation) {
		if len(o.Messages) == lost.Steps[step].MessageCount {
			heard = true
			require.Equal(t, lost.Steps[step-1].MessageCount+1, o.Covered)
			require.Len(t, o.Tokens, 2*step)
		}
	}}
	g, err := player(t, s, j, func(e *rl.Trajectory) error { kept = append(kept, e); return nil }).Open(t.Context(), lost)
	require.NoError(t, err)
	f, err := g.Fork(t.Context(), step, []string{"walk", play.PolicyMoves})
	require.NoError(t, err)
	require.True(t, heard)
	require.Len(t, f.Branches, 3)
	require.Equal(t, 0.0, f.Branches[0].Success.Mean)
	require.Greater(t, f.Branches[1].Success.Mean, 0.5)
	require.Len(t, kept, 301)
	require.Equal(t, lost.ID, kept[0].ID)
	said := kept[101]
	require.Equal(t, "walk", said.Messages[said.Steps[step].MessageCount].Content.Text())
	require.Equal(t, lost.ID, said.BranchOf)
	require.Equal(t, step, said.BranchAt)
	require.JSONEq(t, `"person"`, string(said.Steps[step].Info["chosen_by"]))
	require.Nil(t, said.Steps[step-1].Info["chosen_by"])
	require.Equal(t, lost.Messages[:lost.Steps[step].MessageCount], said.Messages[:lost.Steps[step].MessageCount])
}
