package cli

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/collecting"
	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/councils"
	"github.com/merit-rl/merit/cmd/merit/internal/engine"
	"github.com/merit-rl/merit/cmd/merit/internal/explain"
	"github.com/merit-rl/merit/cmd/merit/internal/fleet"
	"github.com/merit-rl/merit/cmd/merit/internal/judges"
	"github.com/merit-rl/merit/cmd/merit/internal/labels"
	"github.com/merit-rl/merit/cmd/merit/internal/optimizing"
	"github.com/merit-rl/merit/cmd/merit/internal/pages"
	"github.com/merit-rl/merit/cmd/merit/internal/plugins"
	"github.com/merit-rl/merit/cmd/merit/internal/proxying"
	"github.com/merit-rl/merit/cmd/merit/internal/registry"
	"github.com/merit-rl/merit/cmd/merit/internal/review"
	"github.com/merit-rl/merit/cmd/merit/internal/rewards"
	"github.com/merit-rl/merit/cmd/merit/internal/rubrics"
	"github.com/merit-rl/merit/cmd/merit/internal/runs"
	"github.com/merit-rl/merit/cmd/merit/internal/serving"
	"github.com/merit-rl/merit/cmd/merit/internal/sweep"
	"github.com/merit-rl/merit/cmd/merit/internal/traces"
)

// verbs lists every verb of the command: the one place where they meet.
func verbs(h *console.Host) []*cobra.Command {
	return append([]*cobra.Command{
		runs.NewQuickstartCmd(h),
		runs.NewTrainCmd(h),
		newEvalCmd(h),
		newAdvantagesCmd(h),
		runs.NewRolloutCmd(h),
		sweep.NewCmd(h),
		runs.NewEvaluateCmd(h),
		runs.NewPromoteCmd(h),
		runs.NewRollbackCmd(h),
		runs.NewValidateCmd(h),
		runs.NewSchemaCmd(h),
		newViewCmd(h),
		explain.NewCmd(h),
		pages.NewCmd(h),
		newConvertCmd(h),
		newCompareCmd(h),
		review.NewDiffCmd(h),
		review.NewVerifyCmd(h),
		optimizing.NewCmd(h),
		councils.NewCmd(h),
		rewards.NewCmd(h, registry.NewPushCmd(h), registry.NewPullCmd(h)),
		judges.NewCmd(h),
		rubrics.NewCmd(h),
		traces.NewCmd(h),
		labels.NewCmd(h),
		plugins.NewCmd(h),
		engine.NewCmd(h),
		fleet.NewWorkerCmd(h),
		fleet.NewCmd(h),
		proxying.NewCmd(h),
		serving.NewCmd(h),
		serving.NewEnvironmentCmd(h),
		collecting.NewCmd(h),
		serving.NewPolicyCmd(h),
		newVersionCmd(h),
	}, newInterpreterCmds(h)...)
}
