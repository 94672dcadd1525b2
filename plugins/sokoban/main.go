// Command sokoban is the environment of plugins/internal/sokoban as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/sokoban"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(sokoban.Definition()) }
