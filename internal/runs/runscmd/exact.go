package runscmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/creditbench/exact"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sdk/merit"
)

type exactOptions struct {
	host          *console.Host
	source        source
	player        player
	Settings      []string `flag:"setting" usage:"another row: overrides as of --set, separated by spaces (repeatable; default: the configuration)"`
	Groups        int      `flag:"groups" usage:"number of groups, each from another start"`
	Continuations int      `flag:"continuations" usage:"also estimate the advantages of the first row's steps by Monte Carlo, with 1, 4, 16 … up to this many continuations of each state; 0 = none"`
	Split         string   `flag:"split" usage:"which tasks: train, validation or test"`
}

// exactRow is a setting with its result.
type exactRow struct {
	Setting string `json:"setting"`
	*exact.Results
}

// NewExactCmd returns the command merit advantages exact.
func NewExactCmd(h *console.Host) *cobra.Command {
	o := &exactOptions{host: h, player: player{host: h}, Groups: 16, Split: train.SplitTest}
	cmd := console.Verb(&cobra.Command{
		Use:   "exact",
		Short: "Compare the advantages of a configuration with exact ones",
		Long: `Exact plays groups with a policy, computes the advantages of their steps as training
does, branches of rollout.branch included, and compares them with the exact ones. For
these it visits every state that the actions lead to, and solves them backwards from the
last step, so the environment must be small, list its actions, and hide nothing.

A row shows Pearson's correlation over the steps with its 95 % interval over starts,
Spearman's, the share of right signs, and what it costs: environment steps, in all and for
each step that gets an advantage. Branches count; steps that reach a branch again do not.

With --continuations, Exact also continues the episode from every state: the Monte-Carlo
advantage is r + γ V(s') − V(s) with the mean return of these continuations for V, and the
counterfactual one compares the action with others from the same state, in pairs that meet
the same randomness.`,
		Example: "  merit advantages exact -c quickstart/train.yaml --groups 4\n  merit advantages exact --policy quickstart/run --groups 2 --set rollout.members=1 --continuations 16\n  merit advantages exact --policy quickstart/run --groups 4 --set rollout.branch.where=every --setting advantage.estimator=grpo --setting advantage.estimator=vine",
		RunE:    o.run,
	}, o)
	o.source.flags(cmd)
	o.player.flags(cmd)
	console.Values(cmd, "split", train.Splits()...)
	return cmd
}

func (o *exactOptions) run(cmd *cobra.Command, _ []string) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	dir, what, err := o.plays(cmd)
	if err != nil {
		return err
	}
	settings := o.Settings
	if len(settings) == 0 {
		settings = []string{""}
	}
	set := o.source.set
	var all []exactRow
	for i, setting := range settings {
		o.source.set = append(set[:len(set):len(set)], strings.Fields(setting)...)
		cfg, err := o.source.load(cmd.Flags(), dir)
		if err != nil {
			return err
		}
		if what.Continuations = 0; i == 0 {
			what.Continuations = o.Continuations
		}
		r, err := o.measure(cmd.Context(), cfg, what)
		if err != nil {
			return err
		}
		o.host.Logger().Info("measured", "setting", setting, "seconds", strconv.FormatFloat(r.Seconds, 'f', 2, 64))
		all = append(all, exactRow{setting, r})
	}
	return o.print(all)
}

func (o *exactOptions) check(cmd *cobra.Command) error {
	switch {
	case o.Continuations < 0 || o.Continuations > 4096:
		return console.Usage(cmd, "use 1 to 4096, or 0 for none", "--continuations %d is not allowed", o.Continuations)
	case o.Groups < 2:
		return console.Usage(cmd, "use 2 or more; 16 is the default", "--groups %d is not allowed", o.Groups)
	}
	return checkSplit(cmd, o.Split)
}

// plays returns the run whose configuration and policy are used.
func (o *exactOptions) plays(cmd *cobra.Command) (dir string, what exact.Options, err error) {
	what = exact.Options{Split: o.Split, Groups: o.Groups}
	if dir, err = o.player.choose(cmd); err != nil {
		return dir, what, err
	}
	if o.player.promoted != nil {
		return dir, what, &fault.Error{Boundary: fault.CLI, Kind: fault.Refused, Where: o.player.word, What: "a promoted policy may be two policies, each with a share of the starts", Hint: "name a run directory or a checkpoint with --policy"}
	}
	if o.player.word != "" {
		var name string
		if _, name, err = merit.SplitCheckpoint(o.player.word); err == nil {
			what.Checkpoint, err = run.ReadCheckpoint(dir, name)
		}
	}
	return dir, what, err
}

func (o *exactOptions) measure(ctx context.Context, cfg *merit.Config, what exact.Options) (*exact.Results, error) {
	s, err := merit.Open(ctx, cfg, rewardcmd.Options(o.host, cfg.Sandbox.Limits)...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return exact.Measure(ctx, s, what)
}

func (o *exactOptions) print(all []exactRow) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(all)
	}
	t := terminal.Table{Head: []string{"advantages", "correlation", "95 %", "rank", "right sign", "steps", "env steps", "a step"}}
	for _, one := range all {
		for i, r := range one.Rows {
			if i == 0 && one.Setting != "" {
				r.Name = one.Setting
			}
			interval := "–"
			if r.Low != nil {
				interval = fmt.Sprintf("[%.3f, %.3f]", *r.Low, *r.High)
			}
			t.Add(r.Name, fmt.Sprintf("%.3f", r.Pearson), interval, fmt.Sprintf("%.2f", r.Spearman), fmt.Sprintf("%.0f %%", 100*r.Sign),
				strconv.Itoa(r.Steps), strconv.Itoa(r.EnvSteps), fmt.Sprintf("%.1f", float64(r.EnvSteps)/float64(max(r.Steps, 1))))
		}
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	r := all[0].Results
	_, err := fmt.Fprintf(o.host.Stdout, "\n%d starts lead to %d states; the exact value of a start is %.3f, and an exact advantage typically ±%.3f\n", o.Groups, r.States, r.Value, r.Typical)
	return err
}
