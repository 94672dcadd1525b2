// Command rubric is the environment of plugins/internal/rubric as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/rubric"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(rubric.Definition()) }
