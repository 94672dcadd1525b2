// Command grid is the environment of plugins/internal/grid as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/grid"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(grid.Definition()) }
