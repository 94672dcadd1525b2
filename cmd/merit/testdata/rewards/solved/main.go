// Command solved is a reward for tests: 1 if the environment says that the
// episode reached its end state with the last step, else 0.
package main

import "github.com/merit-rl/merit/sdk/reward"

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	return reward.BoolScore(r.StopReason == reward.StopTerminated)
}
