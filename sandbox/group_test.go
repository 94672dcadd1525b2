package sandbox_test

import (
	"context"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/stretchr/testify/require"
)

func answerOf(id, text string) *rl.Trajectory {
	t := &rl.Trajectory{ID: id, Group: "g", Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("?")}}}
	if text != "" {
		t.Messages = append(t.Messages, rl.Message{Role: rl.RoleAssistant, Content: rl.Text(text)})
	}
	return t
}

// Promise: a Go group reward sees all members at once and gives each its own
// result, in order.
func TestGoGroupReward(t *testing.T) {
	m := load(t, newRuntime(t), goGuest(t, "sandbox/testdata/group"))
	require.True(t, m.Info().Group)
	got := m.EvaluateGroup(context.Background(), []*rl.Trajectory{answerOf("a", "long"), answerOf("b", "longest"), answerOf("c", "")})
	require.Len(t, got, 3)
	require.Equal(t, reward.Scored, got[0].Outcome, got[0].Reason)
	require.Equal(t, 1.0, got[0].Result.Score)
	require.Equal(t, 2.0, got[1].Result.Score)
	require.Equal(t, []rl.StepOutput{{StepIndex: 0, BaseReward: 2, Reason: "b"}}, got[1].Result.StepOutputs)
	require.Equal(t, rl.Metrics{{Name: "length", Score: 7, IsScoreValid: true}}, got[1].Result.Metrics)
	require.Equal(t, reward.Invalid, got[2].Outcome)
	require.Equal(t, "no answer", got[2].Reason)
	require.NotZero(t, got[0].Fuel)
}

// Promise: evaluating one trajectory is the same as a group of one, and a
// reward that does not compare takes groups one by one.
func TestGroupOfOne(t *testing.T) {
	ctx := context.Background()
	m := load(t, newRuntime(t), goGuest(t, "sandbox/testdata/group"))
	one, group := m.Evaluate(ctx, answerOf("a", "long")), m.EvaluateGroup(ctx, []*rl.Trajectory{answerOf("a", "long")})
	one.Elapsed, group[0].Elapsed = 0, 0
	require.Equal(t, []reward.Evaluation{one}, group)
	require.Empty(t, m.EvaluateGroup(ctx, nil))

	plain := load(t, newRuntime(t), guest{}.wasm())
	require.False(t, plain.Info().Group)
	both := plain.EvaluateGroup(ctx, []*rl.Trajectory{small(), small()})
	require.Equal(t, reward.Scored, both[0].Outcome)
	require.Equal(t, both[0].Fuel, both[1].Fuel)
}

// Promise: a group reward answers for every member, or for none.
func TestGroupContract(t *testing.T) {
	at := func(i int32, code wt.Code) wt.Code { return wt.I32Const(i) + wt.Call(member) + code }
	for _, c := range []struct {
		name  string
		group wt.Code
		want  [2]reward.Outcome
	}{
		{"both scored", at(0, score(1)) + at(1, score(2)) + scored, [2]reward.Outcome{reward.Scored, reward.Scored}},
		{"any order", at(1, score(2)) + at(0, score(1)) + scored, [2]reward.Outcome{reward.Scored, reward.Scored}},
		{"one left out", at(0, score(1)) + scored, [2]reward.Outcome{reward.ABIViolation, reward.ABIViolation}},
		{"one out of range", at(2, score(1)) + scored, [2]reward.Outcome{reward.ABIViolation, reward.ABIViolation}},
		{"no member named", score(1) + scored, [2]reward.Outcome{reward.ABIViolation, reward.ABIViolation}},
		{"twice", at(0, score(1)) + at(1, score(2)) + at(0, score(1)) + scored, [2]reward.Outcome{reward.ABIViolation, reward.ABIViolation}},
		{"one invalid", at(0, score(1)) + at(1, wt.I32Const(0)+wt.I32Const(3)+wt.Call(reason)) + scored, [2]reward.Outcome{reward.Scored, reward.Invalid}},
		{"one in error", at(0, score(1)) + at(1, wt.I32Const(0)+wt.I32Const(3)+wt.Call(fail)) + scored, [2]reward.Outcome{reward.Scored, reward.GuestError}},
		{"all in error", wt.I32Const(0) + wt.I32Const(3) + wt.Call(fail) + wt.I32Const(2), [2]reward.Outcome{reward.GuestError, reward.GuestError}},
		{"all invalid", at(0, score(1)) + wt.I32Const(1), [2]reward.Outcome{reward.Invalid, reward.Invalid}},
		{"trap", wt.Unreachable, [2]reward.Outcome{reward.Trap, reward.Trap}},
	} {
		m := load(t, newRuntime(t), guest{group: c.group, data: "odd"}.wasm())
		got := m.EvaluateGroup(context.Background(), []*rl.Trajectory{small(), small()})
		require.Equal(t, c.want, [2]reward.Outcome{got[0].Outcome, got[1].Outcome}, "%s: %s", c.name, got[0].Reason)
	}
}
