// Command grid is the environment of plugins/internal/grid as a program of its own.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/grid"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(grid.Definition()) }
