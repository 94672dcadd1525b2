// Command sokoban is the environment of plugins/internal/sokoban as a program of its own.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/sokoban"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(sokoban.Definition()) }
