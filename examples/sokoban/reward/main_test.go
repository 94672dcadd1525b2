package main

import (
	"testing"

	"github.com/merit-rl/merit/sdk/reward"
	"github.com/stretchr/testify/require"
)

// Promise: only a board without a box off target scores, whatever else the
// environment says.
func TestScore(t *testing.T) {
	for _, c := range []struct {
		name, last string
		steps      int
		want       reward.Result
	}{
		{"solved", "#####\n#@* #\n#####", 1, reward.Score(1)},
		{"solved, player on a target that is free", "#####\n#+* #\n#####", 1, reward.Score(1)},
		{"one box off", "#####\n#@*$#\n#. ##\n#####", 2, reward.Score(0)},
		{"text around it", "That cost $5. You moved up.\n#####\n#@* #\n#####\n", 1, reward.Score(1)},
		{"no board", "error", 1, reward.Score(0)},
		{"nothing played", "#####\n#@* #\n#####", 0, reward.Invalid("nothing was played")},
	} {
		r := &reward.Rollout{
			Messages: []reward.Message{{Role: reward.User, Content: "#####\n#@$.#\n#####"}, {Role: reward.Assistant, Content: "right"}, {Role: reward.User, Content: c.last}},
			Steps:    make([]reward.Step, c.steps),
		}
		require.Equal(t, c.want, score(r), c.name)
	}
}

// Promise: an episode that was cut before the environment answered has no
// score.
func TestUnansweredActionIsInvalid(t *testing.T) {
	r := &reward.Rollout{Messages: []reward.Message{{Role: reward.Assistant, Content: "right"}}, Steps: make([]reward.Step, 1)}
	require.True(t, score(r).Invalid)
}
