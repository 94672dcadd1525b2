// Package judgecmd implements merit judge.
package judgecmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
)

// NewCmd returns the judge command with its subcommands.
func NewCmd(h *console.Host) *cobra.Command {
	return console.Group("judge", "Test judges: rewards that ask a language model", newCheckCmd(h))
}
