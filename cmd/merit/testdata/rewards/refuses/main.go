// Command refuses is a reward for tests that is for other conversations.
package main

import (
	"errors"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

func score(*reward.Rollout) reward.Result { return reward.Error(errors.New("there is no board")) }
