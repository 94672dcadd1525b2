// Command openai is the policy of plugins/internal/openai as a separate program.
package main

import (
	"github.com/merit-rl/merit/plugins/internal/openai"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.ServePolicy(openai.Definition()) }
