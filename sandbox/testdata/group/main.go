// Package main is a group reward for tests: longer answers rank higher.
package main

import (
	"github.com/merit-rl/merit/sdk/reward"
	"github.com/merit-rl/merit/sdk/reward/group"
)

func init() { group.Register(rank) }

func main() {}

// rank scores each member by how many members its answer is longer than. A
// member without an answer is invalid.
func rank(members []*reward.Rollout) []reward.Result {
	results := make([]reward.Result, len(members))
	for i, m := range members {
		if m.Answer() == "" {
			results[i] = reward.Invalid("no answer")
			continue
		}
		for _, other := range members {
			if len(m.Answer()) > len(other.Answer()) {
				results[i].Score++
			}
		}
		results[i].Metrics = []reward.Metric{{Name: "length", Value: float64(len(m.Answer()))}}
		results[i].Steps = []reward.StepReward{{Index: 0, Reward: results[i].Score, Reason: m.ID}}
	}
	return results
}
