// Package promptcmd holds the verbs of merit optimize.
package promptcmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/prompt/optimize"
)

// NewCmd is the verb optimize with the verbs below it.
func NewCmd(h *console.Host) *cobra.Command {
	return console.Group("optimize", "Optimize prompts", newPromptCmd(h), console.SchemaVerb(h, "optimize", "Print the JSON Schema of a configuration of optimize prompt, for editors", "", optimize.Schema))
}
