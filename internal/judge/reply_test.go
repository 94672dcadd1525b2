package judge

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/stretchr/testify/require"
)

// Promise: a deeply nested reply is reported as a problem and does not crash.
func TestDeepReplies(t *testing.T) {
	for _, open := range []string{"[", `{"a":`, `[{"a":`} {
		v := strings.Repeat(open, 100_000)
		for _, text := range []string{v, `{"1":` + v, `{"1":{"score":` + v} {
			_, problem := read(Answer{JSON: []byte(text)}, 1)
			require.NotEmpty(t, problem)
			require.Less(t, len(problem), 1000)
		}
	}
}

// Promise: for any answer, read returns either as many scores from 0 to 1 as requested, with
// one-line reasons, or a problem.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"1":{"explanation":"ok","score":0.5},"2":{"explanation":"","score":1}}`, `{"1":{"score":1},"1":{"score":0}}`, `{"1":{}}`, `{`, `[]`, ``,
		`{"1":{"score":1e400},"2":{"score":1}}`, `{"1":{"score":0.1,"explanation":"a\u0000\u001bb"},"2":{"score":-0}}`, "{\"\xff\":{}}",
	} {
		f.Add([]byte(s), 2)
		f.Add([]byte(strings.Repeat(`{"1":`, 100_000)), 2)
	}
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		n = 1 + (n&0xff)%8
		scores, problem := read(Answer{JSON: text}, n)
		if problem != "" {
			require.Nil(t, scores)
			require.Less(t, len(problem), 1000)
			return
		}
		require.Len(t, scores, n)
		for _, s := range scores {
			require.True(t, s.value >= 0 && s.value <= 1)
			require.True(t, utf8.ValidString(s.explanation))
			require.False(t, strings.ContainsAny(s.explanation, "\n\x00\x1b"))
			require.LessOrEqual(t, len(s.explanation), maxReason+len("…"))
		}
	})
}

// Promise: a judge works next to other rewards: its score counts at the last message by its
// weight, and its note is stored under its name.
func TestBesideAnotherReward(t *testing.T) {
	j, err := New(DefaultConfig(), fixed(`{"1":{"explanation":"plain","score":0.5}}`), Options{})
	require.NoError(t, err)
	pool := reward.NewPool([]reward.Weighted{{Scorer: constant(2), Weight: 1, Name: "exact"}, {Scorer: j, Weight: 0.5, Name: "taste"}}, 1)
	talk := &rl.Trajectory{ID: "t", Messages: []rl.Message{{Role: rl.RoleUser}, {Role: rl.RoleAssistant}, {Role: rl.RoleUser}, {Role: rl.RoleAssistant}}}
	got, err := pool.Evaluate(t.Context(), []*rl.Group{{Trajectories: []*rl.Trajectory{talk}}}, nil)
	require.NoError(t, err)
	require.Equal(t, 2.25, got[0].Result.Score)
	require.Equal(t, "taste: plain", got[0].Result.Reason)
	require.Equal(t, []rl.StepOutput{{StepIndex: 0, BaseReward: 2}, {StepIndex: 1, BaseReward: 0.25, Reason: "taste: the score"}}, got[0].Result.StepOutputs)
	require.Contains(t, string(got[0].Notes["taste"]), "plain")

	j, err = New(DefaultConfig(), fixed(`no`), Options{})
	require.NoError(t, err)
	pool = reward.NewPool([]reward.Weighted{{Scorer: constant(2), Weight: 1, Name: "exact"}, {Scorer: j, Weight: 0.5, Name: "taste"}}, 1)
	got, err = pool.Evaluate(t.Context(), []*rl.Group{{Trajectories: []*rl.Trajectory{talk}}}, nil)
	require.NoError(t, err)
	require.Equal(t, reward.ABIViolation, got[0].Outcome)
	require.Contains(t, got[0].Reason, "taste: the judge: ")
	require.Contains(t, string(got[0].Notes["taste"]), `"answer":"no"`)
}

// fixed is a model that always gives the same answer.
type fixed string

func (f fixed) Ask(context.Context, Question) (Answer, error) { return Answer{Text: string(f)}, nil }

// constant is a reward with a base reward for the first assistant message.
type constant float64

func (c constant) Info() reward.Info { return reward.Info{Name: "constant"} }

func (c constant) Evaluate(context.Context, *rl.Trajectory) reward.Evaluation {
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{
		Score: float64(c), IsScoreValid: true, StepOutputs: []rl.StepOutput{{BaseReward: float64(c)}},
	}}
}
