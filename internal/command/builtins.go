package command

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/council/councilcmd"
	"github.com/merit-rl/merit/internal/engine/enginecmd"
	"github.com/merit-rl/merit/internal/fleet/fleetcmd"
	"github.com/merit-rl/merit/internal/host/plugincmd"
	"github.com/merit-rl/merit/internal/judge/judgecmd"
	"github.com/merit-rl/merit/internal/labels/labelcmd"
	"github.com/merit-rl/merit/internal/prompt/promptcmd"
	"github.com/merit-rl/merit/internal/recheck/explaincmd"
	"github.com/merit-rl/merit/internal/recheck/reviewcmd"
	"github.com/merit-rl/merit/internal/registry/registrycmd"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/rubric/rubriccmd"
	"github.com/merit-rl/merit/internal/runs/runscmd"
	"github.com/merit-rl/merit/internal/serve/servecmd"
	"github.com/merit-rl/merit/internal/sweep/sweepcmd"
	"github.com/merit-rl/merit/internal/traces/collectcmd"
	"github.com/merit-rl/merit/internal/traces/proxycmd"
	"github.com/merit-rl/merit/internal/traces/tracescmd"
	"github.com/merit-rl/merit/internal/ui/uicmd"
)

// verbs lists every verb of the command: the one place where they meet.
func verbs(h *console.Host) []*cobra.Command {
	return append([]*cobra.Command{
		runscmd.NewQuickstartCmd(h),
		runscmd.NewTrainCmd(h),
		newEvalCmd(h),
		newAdvantagesCmd(h),
		runscmd.NewRolloutCmd(h),
		sweepcmd.NewCmd(h),
		runscmd.NewEvaluateCmd(h),
		runscmd.NewPromoteCmd(h),
		runscmd.NewRollbackCmd(h),
		runscmd.NewValidateCmd(h),
		runscmd.NewSchemaCmd(h),
		newViewCmd(h),
		explaincmd.NewCmd(h),
		uicmd.NewCmd(h),
		newConvertCmd(h),
		newCompareCmd(h),
		reviewcmd.NewDiffCmd(h),
		reviewcmd.NewVerifyCmd(h),
		promptcmd.NewCmd(h),
		councilcmd.NewCmd(h),
		rewardcmd.NewCmd(h, registrycmd.NewPushCmd(h), registrycmd.NewPullCmd(h)),
		judgecmd.NewCmd(h),
		rubriccmd.NewCmd(h),
		tracescmd.NewCmd(h),
		labelcmd.NewCmd(h),
		plugincmd.NewCmd(h),
		enginecmd.NewCmd(h),
		fleetcmd.NewWorkerCmd(h),
		fleetcmd.NewCmd(h),
		proxycmd.NewCmd(h),
		servecmd.NewCmd(h),
		servecmd.NewEnvironmentCmd(h),
		collectcmd.NewCmd(h),
		servecmd.NewPolicyCmd(h),
		newVersionCmd(h),
	}, newInterpreterCmds(h)...)
}
