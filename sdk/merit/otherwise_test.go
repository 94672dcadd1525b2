package merit

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// answers is a reward with one answer.
type answers struct {
	info reward.Info
	e    reward.Evaluation
}

func (a answers) Info() reward.Info { return a.info }

func (a answers) Evaluate(context.Context, *rl.Trajectory) reward.Evaluation { return a.e }

func scored(score float64, reason string) reward.Evaluation {
	return reward.Evaluation{Outcome: reward.Scored, Fuel: 2, Log: "b", Result: rl.EvaluateResult{Score: score, IsScoreValid: true, Reason: reason}}
}

// Promise: only a reward that reports that it has no valid score is followed by the next one; the
// results say which one decided and why.
func TestOtherwise(t *testing.T) {
	refused := errors.New("the key is refused")
	flagged := scored(0, "unsure")
	flagged.Result.IsScoreValid = false
	for name, c := range map[string]struct {
		first, second reward.Evaluation
		outcome       reward.Outcome
		by            float64
		reason        string
		fuel          uint64
	}{
		"the first decides":      {first: scored(1, "equal"), outcome: reward.Scored, by: 0, reason: "equal", fuel: 2},
		"no score":               {first: reward.Evaluation{Outcome: reward.Invalid, Reason: "no number", Fuel: 1}, second: scored(1, "close"), outcome: reward.Scored, by: 1, reason: "b: close; a has no score: no number", fuel: 3},
		"a flag":                 {first: flagged, second: scored(1, ""), outcome: reward.Scored, by: 1, reason: "b: no reason; a has no score: unsure", fuel: 4},
		"an error stays":         {first: reward.Evaluation{Outcome: reward.GuestError, Reason: "broken"}, second: scored(1, ""), outcome: reward.GuestError, reason: "broken"},
		"spent fuel stays":       {first: reward.Evaluation{Outcome: reward.OutOfFuel, Fuel: 9}, second: scored(1, ""), outcome: reward.OutOfFuel, fuel: 9},
		"a fatal error stays":    {first: reward.Evaluation{Outcome: reward.Invalid, Fatal: refused}, second: scored(1, ""), outcome: reward.Invalid},
		"neither":                {first: reward.Evaluation{Outcome: reward.Invalid, Reason: "x"}, second: reward.Evaluation{Outcome: reward.Invalid, Reason: "y"}, outcome: reward.Invalid, reason: "b: y; a has no score: x"},
		"the second fails":       {first: reward.Evaluation{Outcome: reward.Invalid, Reason: "x"}, second: reward.Evaluation{Outcome: reward.Trap, Reason: "y"}, outcome: reward.Trap, reason: "b: y; a has no score: x"},
		"the metric is not free": {first: scored(1, ""), outcome: reward.ABIViolation, reason: "a has a metric decided_by, in which Merit notes which of the rewards gave the score; rename the metric", fuel: 2},
	} {
		if c.outcome == reward.ABIViolation {
			c.first.Result.Metrics = rl.Metrics{{Name: decidedBy}}
		}
		both, err := newChain([]reward.Weighted{{Scorer: answers{reward.Info{Name: "a"}, c.first}, Weight: 1}, {Scorer: answers{reward.Info{Name: "b"}, c.second}, Weight: 1}})
		require.NoError(t, err)
		e := both.Evaluate(t.Context(), &rl.Trajectory{})
		require.Equal(t, c.outcome, e.Outcome, name)
		require.Equal(t, c.fuel, e.Fuel, name)
		if c.outcome != reward.Scored {
			require.Equal(t, c.reason, e.Reason, name)
			continue
		}
		require.Equal(t, c.reason, e.Result.Reason, name)
		m, ok := e.Result.Metrics.Get(decidedBy)
		require.True(t, ok && m.IsScoreValid, name)
		require.Equal(t, c.by, m.Score, name)
	}
}

// Promise: the digest covers all rewards in their order, notes keep the name of their reward, and
// steps count by one rule.
func TestOtherwiseJoins(t *testing.T) {
	invalid := reward.Evaluation{Outcome: reward.Invalid, Notes: map[string]json.RawMessage{"": json.RawMessage(`1`)}}
	second := scored(1, "")
	second.Notes = map[string]json.RawMessage{"": json.RawMessage(`2`), "asked": json.RawMessage(`3`)}
	second.Result.StepOutputs = []rl.StepOutput{{StepIndex: 3, BaseReward: 1}}
	a := answers{reward.Info{Name: "same", Digest: "sha256:a", StepIndexing: reward.ByAssistant, GroundTruth: reward.UseIgnored}, invalid}
	b := answers{reward.Info{Name: "same", Digest: "sha256:b", StepIndexing: reward.ByMessage, GroundTruth: reward.UseRead}, second}
	x, err := newChain([]reward.Weighted{{Scorer: a, Weight: 1}, {Scorer: b, Weight: 1}})
	require.NoError(t, err)
	y, err := newChain([]reward.Weighted{{Scorer: b, Weight: 1}, {Scorer: a, Weight: 1}})
	require.NoError(t, err)
	require.NotEqual(t, x.Info().Digest, y.Info().Digest)
	require.Equal(t, reward.ByAssistant, x.Info().StepIndexing)
	require.Equal(t, reward.UseRead, x.Info().GroundTruth)

	say := func(role string) rl.Message { return rl.Message{Role: role} }
	e := x.Evaluate(t.Context(), &rl.Trajectory{Messages: []rl.Message{say("user"), say("assistant"), say("user"), say("assistant")}})
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, []rl.StepOutput{{StepIndex: 1, BaseReward: 1}}, e.Result.StepOutputs)
	require.Equal(t, map[string]json.RawMessage{"": json.RawMessage(`1`), "same#2": json.RawMessage(`2`), "same#2/asked": json.RawMessage(`3`)}, e.Notes)
	require.Equal(t, map[string][]string{"decided_by": {"same", "same#2"}}, deciders([]reward.Weighted{{Scorer: x, Weight: 1}}))
	require.Nil(t, deciders([]reward.Weighted{{Scorer: a, Weight: 1}}))
}
