// Package rubriccmd holds the verbs of merit rubric.
package rubriccmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
)

// NewCmd is the verb rubric with the verbs below it.
func NewCmd(h *console.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rubric",
		Short: "Run and compare rubrics: weighted criteria for judging work",
		Args:  console.UnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSchemaCmd(h),
		newValidateCmd(h),
		newEvalCmd(h),
		newCheckCmd(h),
		newPayoffCmd(h),
	)
	return cmd
}
