// Command odd is a reward for tests that misbehaves as the last message asks.
package main

import (
	"errors"
	"math"

	"github.com/merit-rl/merit/sdk/reward"
)

var spent int // keeps the compiler from removing the loop

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	switch r.Answer() {
	case "nan":
		return reward.Score(math.NaN())
	case "step that does not exist":
		return reward.Result{Score: 1, Steps: []reward.StepReward{{Index: 7, Reward: 1}}}
	case "step twice":
		return reward.Result{Score: 1, Steps: []reward.StepReward{{Index: 0, Reward: 1}, {Index: 0, Reward: 1}}}
	case "invalid":
		return reward.Invalid("nothing to compare with")
	case "error":
		return reward.Error(errors.New("the judge is on holiday"))
	case "panic":
		panic("out of ideas")
	case "a while": // so that what is finished is written: at most every 100 ms
		for range 1_000_000_000 {
			spent++
		}
	case "forever":
		for {
		}
	}
	return reward.Score(1)
}
