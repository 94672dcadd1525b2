// Command planner is the policy of plugins/internal/planner as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/planner"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.ServePolicy(planner.Definition()) }
