// Package group is for rewards that compare the members of a group, that is
// rollouts from one identical start. Importing it makes the module a group
// reward: the sandbox hands it whole groups.
package group

import "github.com/merit-rl/merit/sdk/reward"

// registered is the module's reward; see reward.Register.
var registered func([]*reward.Rollout) []reward.Result

// Register makes rank the reward of the module. It returns one result per
// member, in order; a group may have one member. It is called once, from an
// init function.
func Register(rank func(members []*reward.Rollout) []reward.Result) {
	if registered != nil {
		panic("group: registered twice")
	}
	registered = rank
}
