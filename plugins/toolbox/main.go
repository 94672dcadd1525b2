// Command toolbox is the environment of plugins/internal/toolbox as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/toolbox"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(toolbox.Definition()) }
