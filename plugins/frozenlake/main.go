// Command frozenlake is the environment of plugins/internal/frozenlake as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/frozenlake"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(frozenlake.Definition()) }
