// Command htdag is the environment of plugins/internal/htdag as a program of its own.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/htdag"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(htdag.Definition()) }
