// Command htdag is the environment of plugins/internal/htdag as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/htdag"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(htdag.Definition()) }
