// Command openenv is the environment of plugins/internal/openenv as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/openenv"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(openenv.Definition()) }
