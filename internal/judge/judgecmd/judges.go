// Package judgecmd holds the verbs of merit judge.
package judgecmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
)

// NewCmd is the verb judge with the verbs below it.
func NewCmd(h *console.Host) *cobra.Command {
	return console.Group("judge", "Test judges: rewards that ask a language model", newCheckCmd(h))
}
