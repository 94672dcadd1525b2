package cli

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/rewards"
)

// verbs lists every verb of the command: the one place where they meet.
func verbs(h *console.Host) []*cobra.Command {
	return append([]*cobra.Command{
		newTrainCmd(h),
		newEvalCmd(h),
		newAdvantagesCmd(h),
		newRolloutCmd(h),
		newValidateCmd(h),
		newSchemaCmd(h),
		newViewCmd(h),
		newCompareCmd(h),
		rewards.NewCmd(h),
		newPluginsCmd(h),
		newVersionCmd(h),
	}, newInterpreterCmds(h)...)
}
