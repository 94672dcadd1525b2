// Package group is for rewards that compare the members of a group, which are
// rollouts from the same start. Importing it makes the module a group reward: the
// sandbox passes whole groups to it.
package group

import "github.com/merit-rl/merit/sdk/reward"

// registered is the module's reward; see reward.Register.
var registered func([]*reward.Rollout) []reward.Result

// Register makes rank the reward of the module. rank returns one result per
// member, in order; a group may have only one member. Call Register once, in an
// init function.
func Register(rank func(members []*reward.Rollout) []reward.Result) {
	if registered != nil {
		panic("group: registered twice")
	}
	registered = rank
}
