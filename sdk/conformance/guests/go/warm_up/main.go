// Package main counts its calls: 10 for the warm-up, 1 for an evaluation. Every
// score is 11.
package main

import (
	"github.com/merit-rl/merit/sdk/reward"
	"github.com/merit-rl/merit/sdk/reward/warmup"
)

var calls float64

func init() {
	warmup.Register(func() { calls += 10 })
	reward.Register(func(*reward.Rollout) reward.Result {
		calls++
		return reward.Score(calls)
	})
}

func main() {}
