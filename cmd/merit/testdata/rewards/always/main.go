// Command always is a reward for tests that never gives a number.
package main

import (
	"math"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

func score(*reward.Rollout) reward.Result { return reward.Score(math.NaN()) }
