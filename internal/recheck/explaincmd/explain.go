// Package explaincmd is the verb explain: why a step got its advantage, as tables
// for people.
package explaincmd

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/recheck/explain"
	"github.com/merit-rl/merit/sdk/merit"
)

type options struct {
	host   *console.Host
	Config string   `flag:"config,c" usage:"configuration whose advantage and align sections count (default: that of the run)" files:"yaml,yml"`
	Set    []string `flag:"set" usage:"put a value over the configuration, to see what would be: key.path=value (repeatable)"`
	choice explain.Choice
	Full   bool `flag:"full" usage:"nothing shortened"`
}

// NewCmd is the verb explain.
func NewCmd(h *console.Host) *cobra.Command {
	o := &options{host: h, choice: explain.Any()}
	cmd := console.Verb(&cobra.Command{
		Use:   "explain RUN|FILE",
		Short: "Show how the advantage of a step was computed",
		Long: `Explain recomputes the advantage of one step and shows the computation: the members of
its group with their scores, every step with the same state, both means and deviations,
the sum, members without a score, and the advantages under GRPO and other estimators. It
reports whether the file contains the same numbers, to the last bit.

RUN is a run directory; explain uses its configuration (save.groups says how many whole
groups of an iteration a run keeps). FILE contains trajectories, or rows as merit
advantages reads and writes them. Without --trajectory and --step, explain shows the step
with the largest absolute advantage of the run or of --iteration.`,
		Example: `  merit explain quickstart/run
  merit explain quickstart/run --iteration 5 --step 0
  merit explain quickstart/run --set advantage.omega=0.5
  merit explain advantages.jsonl --set advantage.gamma=0.9 --json`,
		Args: console.Exactly("RUN|FILE"),
		RunE: o.run,
	}, o)
	f := cmd.Flags()
	f.IntVar(&o.choice.Iteration, "iteration", -1, "only steps of this training iteration (default: all)")
	f.StringVar(&o.choice.Trajectory, "trajectory", "", "only steps of the trajectory with this id")
	f.IntVar(&o.choice.Step, "step", -1, "only steps with this number, from 0 (default: all)")
	return cmd
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	for i, got := range []int{o.choice.Iteration, o.choice.Step} {
		if flag := []string{"iteration", "step"}[i]; got < 0 && cmd.Flags().Changed(flag) {
			return console.Usage(cmd, "both count from 0; omit the flag for all", "--%s %d is less than 0", flag, got)
		}
	}
	s, err := o.settings(args[0])
	if err != nil {
		return err
	}
	e, err := explain.Find(args[0], s, o.choice)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(e)
	}
	p := &printer{style: o.host.OutStyle(), full: o.Full}
	_, err = o.host.Stdout.Write([]byte(p.text(e)))
	return err
}

// settings are those of the configuration that is named, of the run, or the
// defaults.
func (o *options) settings(path string) (explain.Settings, error) {
	load := merit.PlayConfig
	info, err := os.Stat(path)
	run := err == nil && info.IsDir()
	switch {
	case o.Config != "":
		load = func(set ...string) (*merit.Config, error) { return merit.LoadPartial(o.Config, set...) }
	case run && len(o.Set) == 0:
		return explain.ReadSettings(path)
	case run:
		load = func(set ...string) (*merit.Config, error) { return merit.LoadRun(path, set...) }
	}
	c, err := load(o.Set...)
	if err != nil {
		return explain.Settings{}, err
	}
	s := explain.Settings{Advantage: c.Advantage, Align: c.Align}
	if run {
		s.Members = c.Rollout.Members
	}
	return s, nil
}
