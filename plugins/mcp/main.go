// Command mcp is the environment of plugins/internal/mcp as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/mcp"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(mcp.Definition()) }
