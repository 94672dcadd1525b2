// Package explaincmd implements merit explain, which prints why a step got its advantage.
package explaincmd

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/explain"
	"github.com/merit-rl/merit/sdk/merit"
)

type options struct {
	host   *console.Host
	Config string   `flag:"config,c" usage:"configuration whose advantage and align sections are used (default: that of the run)" files:"yaml,yml"`
	Set    []string `flag:"set" usage:"override a value of the configuration, to see its effect: key.path=value (repeatable)"`
	choice explain.Choice
	Full   bool `flag:"full" usage:"do not shorten texts and tables"`
}

// NewCmd returns the explain command.
func NewCmd(h *console.Host) *cobra.Command {
	o := &options{host: h, choice: explain.Any()}
	cmd := console.Verb(&cobra.Command{
		Use:   "explain RUN|FILE",
		Short: "Show how the advantage of a step was computed",
		Long: `Explain recomputes the advantage of one step and shows each part of it: the members
of its group with their scores, every step with the same state, both means and
deviations, the sum, members without a score, and the advantages that GRPO and other
estimators would give. It reports whether the stored numbers are the same, bit for bit.

RUN is a run directory, whose configuration is used (save.groups sets how many whole
groups of an iteration a run saves). FILE contains trajectories, or rows as merit
advantages reads and writes them. Without --trajectory and --step, it explains the step
with the largest positive or negative advantage of the run or of --iteration.`,
		Example: `  merit explain quickstart/run
  merit explain quickstart/run --iteration 5 --step 0
  merit explain quickstart/run --set advantage.omega=0.5
  merit explain advantages.jsonl --set advantage.gamma=0.9 --json`,
		Args: console.Exactly("RUN|FILE"),
		RunE: o.run,
	}, o)
	f := cmd.Flags()
	f.IntVar(&o.choice.Iteration, "iteration", -1, "only steps of this iteration of training (default: all)")
	f.StringVar(&o.choice.Trajectory, "trajectory", "", "only steps of the trajectory with this id")
	f.IntVar(&o.choice.Step, "step", -1, "only steps with this number, from 0 (default: all)")
	return console.Paged(h, cmd)
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	for i, got := range []int{o.choice.Iteration, o.choice.Step} {
		if flag := []string{"iteration", "step"}[i]; got < 0 && cmd.Flags().Changed(flag) {
			return console.Usage(cmd, "use 0 or more, or omit the flag to match any", "--%s %d is less than 0", flag, got)
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
	o.host.Notes(e.NotRead)
	if o.host.Global.JSON {
		return o.host.PrintJSON(e)
	}
	p := &printer{style: o.host.OutStyle(), full: o.Full}
	_, err = o.host.Stdout.Write([]byte(p.text(e)))
	return err
}

// settings returns the settings of the named configuration, of the run, or the defaults.
func (o *options) settings(path string) (explain.Settings, error) {
	load := merit.PlayConfig
	info, err := os.Stat(path)
	run := err == nil && info.IsDir() && !jsonl.IsForeign(path)
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
