// Command 2048 is the environment of plugins/internal/2048 as a separate program.
package main

import (
	tiles "github.com/merit-rl/merit/plugins/internal/2048"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(tiles.Definition()) }
