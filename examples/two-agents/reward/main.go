// Package main is the reward of the two agents: a half for the planner's desk,
// if it is the one that the ticket is for, and a half for the solver's remedy, if
// it is what the desk that it heard of does for the customer's wish. Each agent is
// judged by what it knew.
package main

import (
	"slices"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	var said []string
	for _, m := range r.Messages {
		if m.Role == reward.Assistant {
			said = append(said, m.Content)
		}
	}
	if len(said) != 2 {
		return reward.Invalid("a ticket takes two answers: the desk, and what is done")
	}
	truth := strings.Fields(r.GroundTruth.Text) // the desk, then desk:remedy of each
	if len(truth) < 2 {
		return reward.Invalid("the ground truth does not say which desk, and what each of them does")
	}
	desk, remedy := said[0], said[1]
	total := 0.0
	if desk == truth[0] {
		total += 0.5
	}
	if slices.Contains(truth[1:], desk+":"+remedy) {
		total += 0.5
	}
	return reward.Score(total)
}
