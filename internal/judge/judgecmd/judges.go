// Package judgecmd holds the verbs of merit judge.
package judgecmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
)

// NewCmd is the verb judge with the verbs below it.
func NewCmd(h *console.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "judge",
		Short: "Test judges: rewards that ask a language model",
		Args:  console.UnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheckCmd(h))
	return cmd
}
