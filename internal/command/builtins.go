package command

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/audit/auditcmd"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/council/councilcmd"
	"github.com/merit-rl/merit/internal/creditbench/creditcmd"
	"github.com/merit-rl/merit/internal/doctor/doctorcmd"
	"github.com/merit-rl/merit/internal/engine/enginecmd"
	"github.com/merit-rl/merit/internal/fleet/fleetcmd"
	"github.com/merit-rl/merit/internal/harbor/harborcmd"
	"github.com/merit-rl/merit/internal/host/plugincmd"
	"github.com/merit-rl/merit/internal/judge/judgecmd"
	"github.com/merit-rl/merit/internal/labels/labelcmd"
	"github.com/merit-rl/merit/internal/mcp/mcpcmd"
	"github.com/merit-rl/merit/internal/play/playcmd"
	"github.com/merit-rl/merit/internal/project/initcmd"
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

// group is a set of commands under one title in the help.
type group struct {
	title string
	verbs []*cobra.Command
}

// groups lists every command of merit. It is the only list of commands.
func groups(h *console.Host) []group {
	return []group{
		{"Write and run rewards:", []*cobra.Command{
			initcmd.NewCmd(h),
			rewardcmd.NewCmd(h, reviewcmd.NewDiffCmd(h), registrycmd.NewPushCmd(h), registrycmd.NewPullCmd(h)),
			newEvalCmd(h),
			auditcmd.NewCmd(h),
			rubriccmd.NewCmd(h),
			judgecmd.NewCmd(h),
			newAdvantagesCmd(h, creditcmd.NewCmd(h), runscmd.NewExactCmd(h)),
			newConvertCmd(h),
		}},
		{"Train and measure:", []*cobra.Command{
			runscmd.NewQuickstartCmd(h),
			runscmd.NewValidateCmd(h),
			runscmd.NewTrainCmd(h),
			runscmd.NewRolloutCmd(h),
			newCompareCmd(h),
			labelcmd.NewPreferCmd(h),
			sweepcmd.NewCmd(h),
			harborcmd.NewCmd(h),
			console.Group("policy", "Measure, promote and roll back policies",
				runscmd.NewMeasureCmd(h), runscmd.NewPromoteCmd(h), runscmd.NewRollbackCmd(h)),
		}},
		{"Look at runs and check them:", []*cobra.Command{
			runscmd.NewListCmd(h),
			runscmd.NewWatchCmd(h),
			uicmd.NewCmd(h),
			newViewCmd(h),
			playcmd.NewCmd(h),
			explaincmd.NewCmd(h),
			reviewcmd.NewVerifyCmd(h),
			mcpcmd.NewCmd(h, Run),
		}},
		{"Learn from agents that already run:", []*cobra.Command{
			tracescmd.NewCmd(h, collectcmd.NewCmd(h), proxycmd.NewCmd(h), labelcmd.NewCmd(h)),
			promptcmd.NewCmd(h),
			councilcmd.NewCmd(h),
		}},
		{"Serve, and use other machines:", []*cobra.Command{
			servecmd.NewCmd(h),
			fleetcmd.NewCmd(h),
		}},
		{"Set up:", append([]*cobra.Command{
			doctorcmd.NewCmd(h),
			plugincmd.NewCmd(h),
			enginecmd.NewCmd(h),
			runscmd.NewSchemaCmd(h),
			newManCmd(h),
			newVersionCmd(h),
		}, newInterpreterCmds(h)...)},
	}
}

// addGroups adds every command below the title of its group.
func addGroups(cmd *cobra.Command, all []group) {
	for _, g := range all {
		cmd.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, verb := range g.verbs {
			verb.GroupID = g.title
		}
		cmd.AddCommand(g.verbs...)
	}
	setUp := all[len(all)-1].title
	cmd.SetHelpCommandGroupID(setUp)
	cmd.SetCompletionCommandGroupID(setUp)
}

// moves are the commands that have a new name, for one release.
var moves = []console.Move{
	{Old: "baseline", New: []string{"policy", "measure"}},
	{Old: "collect", New: []string{"traces", "collect"}},
	{Old: "diff", New: []string{"reward", "diff"}},
	{Old: "evaluate", New: []string{"policy", "measure"}},
	{Old: "promote", New: []string{"policy", "promote"}},
	{Old: "proxy", New: []string{"traces", "proxy"}},
	{Old: "rollback", New: []string{"policy", "rollback"}},
	{Old: "serve", New: []string{"serve", "rewards"}},
	{Old: "serve-env", New: []string{"serve", "env"}},
	{Old: "serve-policy", New: []string{"serve", "policy"}},
	{Old: "worker", New: []string{"fleet", "worker"}},
}
