// Command dataset is the environment of plugins/internal/dataset as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/dataset"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.Serve(dataset.Definition()) }
