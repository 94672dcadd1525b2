// Command toolbox is the environment of plugins/internal/toolbox as a program of its own.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/toolbox"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(toolbox.Definition()) }
