// Package promptcmd implements merit optimize.
package promptcmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/prompt/optimize"
)

// NewCmd returns the optimize command with its subcommands.
func NewCmd(h *console.Host) *cobra.Command {
	return console.Group("optimize", "Optimize prompts", newPromptCmd(h), console.SchemaVerb(h, "optimize", "Print the JSON Schema of a configuration for optimize prompt", "", optimize.Schema))
}
