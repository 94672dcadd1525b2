// Command planner is a policy plug-in that plays htdag by rules, in both of its
// forms: the baseline that a learned policy has to beat.
//
// It is written against sdk/plugin only, as anybody's would be.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/rules"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.ServePolicy(rules.Definition()) }
