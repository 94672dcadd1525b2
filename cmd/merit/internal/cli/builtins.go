package cli

import "github.com/spf13/cobra"

// verbs lists every verb of the command: the one place where they meet.
func verbs(h *Host) []*cobra.Command {
	return append([]*cobra.Command{
		newTrainCmd(h),
		newEvalCmd(h),
		newAdvantagesCmd(h),
		newRolloutCmd(h),
		newValidateCmd(h),
		newSchemaCmd(h),
		newViewCmd(h),
		newCompareCmd(h),
		newRewardCmd(h),
		newPluginsCmd(h),
		newVersionCmd(h),
	}, newInterpreterCmds(h)...)
}
