package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/scores"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/labels/preference"
	"github.com/merit-rl/merit/internal/runs/spent"
	"github.com/merit-rl/merit/sdk/merit"
)

type compareOptions struct {
	host        *console.Host
	Config      string   `flag:"config,c" usage:"configuration whose evidence section is used (default: that of the measured configuration)" files:"yaml,yml"`
	Set         []string `flag:"set" usage:"override a threshold: evidence.key=value (repeatable)"`
	Preferences string   `flag:"preferences" usage:"file of the answers of merit label (default: preferences.jsonl in the run)" files:"jsonl"`
	PassAt      []int    `flag:"pass-at" usage:"compare pass@k and pass^k for these k, such as 1,4,8 (default: those that both measurements have)"`
	ByTask      []string `flag:"by-task" usage:"also show these metrics for each task, if train.cluster is task (separated by commas)" split:"yes"` // metrics
}

func newCompareCmd(h *console.Host) *cobra.Command {
	o := &compareOptions{host: h}
	return console.Paged(h, console.Verb(&cobra.Command{
		Use:   "compare RUN|FILE...",
		Short: "Compare runs or policies, and recommend what to do",
		Long: `Compare reports in which metrics policies differ, by how much, and how certain that is.
It shows means, the difference with a bootstrap interval, the effect size, and a
suitable test: McNemar for success in pairs with the same start, Wilcoxon for other
metrics, and Welch or rank sums if the policies did not play the same starts. One
sentence recommends promoting, iterating or falling back, according to the evidence
section of the configuration.

If the policies made several attempts at each start (merit policy measure --attempts), it
also compares pass@k and pass^k, start by start: how likely at least one of k attempts
succeeds, and all k of them.

Compare takes runs and files of merit policy measure --out, and compares each with the
first. It also takes what other tools wrote (docs/interchange.md), with the scores in it:
trajectories of one group have the same start. For a single run, it compares the trained policy with the policy before training.
For several runs, it also shows what each cost, and how their configurations differ.

It also reports how often raters preferred each policy to the first, if merit label asked
them. With --preferences, the files may be files of episodes, of which it reports only that.`,
		Example: "  merit compare before.json trained.json\n  merit compare before.json trained.json --pass-at 2\n  merit compare runs/gigpo runs/grpo\n  merit compare quickstart/run\n  merit compare old.jsonl new.jsonl --preferences mails.jsonl\n  merit compare before.eval after.eval",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 1 && isFile(args[0]) {
				return console.Usage(cmd, "", "%s takes one run, or two or more runs or files", cmd.CommandPath())
			}
			return nil
		},
		RunE: o.run,
	}, o))
}

func (o *compareOptions) run(cmd *cobra.Command, args []string) error {
	var err error
	if o.PassAt, err = scores.PassAt(cmd, o.PassAt); err != nil {
		return err
	}
	liked, err := o.preferred(args)
	switch {
	case err != nil:
		return err
	case o.Preferences != "" && slices.ContainsFunc(args, isFile):
		return o.printPreferences(args, liked)
	case len(args) > 1 && !slices.ContainsFunc(args, isFile):
		return o.runs(args, liked)
	}
	names, all, err := o.measured(args)
	if err != nil {
		return err
	}
	if err := o.passAt(names, all); err != nil {
		return err
	}
	list, err := o.plays(names, all)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Preference = liked[names[i]]
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(list)
	}
	return o.printPlays(list)
}

// compared is a run in a comparison, with the difference between its trained policy and
// that of the first run.
type compared struct {
	merit.Compared
	Difference *evidence.Comparison `json:"difference,omitempty"`
	Preference *preference.Result   `json:"preference,omitempty"`
}

// runs compares runs: their results, the differences of their configurations, and, if
// they are comparable, their trained policies with that of the first run.
func (o *compareOptions) runs(args []string, liked map[string]*preference.Result) error {
	runs, keys, err := merit.Compare(args...)
	if err != nil {
		return err
	}
	var list []played
	_, all, apart := o.measured(args)
	if apart == nil {
		apart = o.passAt(args, all)
	}
	if apart == nil {
		list, apart = o.plays(args, all)
	} else if len(o.PassAt) > 0 {
		return apart
	}
	if o.host.Global.JSON {
		out := make([]compared, len(runs))
		for i, r := range runs {
			out[i].Compared, out[i].Preference = r, liked[args[i]]
			if apart == nil {
				out[i].Difference = list[i].Difference
			}
		}
		return o.host.PrintJSON(out)
	}
	if err := o.print(runs, keys); err != nil {
		return err
	}
	if apart != nil { // the environments differ, or the run kept no episodes
		_, err := fmt.Fprintf(o.host.Stdout, "\nnot compared further: %v\n", apart)
		return err
	}
	for _, p := range list[1:] {
		p.Preference = liked[p.Name]
		if err := o.printDifference(list[0].Name, p); err != nil {
			return err
		}
	}
	return nil
}

func (o *compareOptions) print(runs []merit.Compared, keys []string) error {
	t := terminal.Table{Head: []string{"run", "before", "trained", "95 %", "return", "length", "p", "iterations", "steps", "seconds"}}
	for _, r := range runs {
		s := r.Summary
		t.Add(r.Run, terminal.Percent(s.Baseline.Success), terminal.Percent(s.Trained.Success),
			fmt.Sprintf("[%.1f, %.1f]", 100*s.Trained.SuccessInterval[0], 100*s.Trained.SuccessInterval[1]),
			fmt.Sprintf("%.3f", s.Trained.Return), fmt.Sprintf("%.1f", s.Trained.Length), fmt.Sprintf("%.2g", s.PValue),
			strconv.Itoa(s.Iterations), fmt.Sprint(s.EnvSteps), fmt.Sprintf("%.0f", s.Time.Training))
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	names, scores := []string{}, []run.Score{}
	for _, r := range runs {
		names, scores = append(names, r.Run), append(scores, r.Summary.Trained.Score)
	}
	if err := errors.Join(o.printMetrics(names, scores), o.printCost(names, runs)); err != nil || len(keys) == 0 {
		return err
	}
	d := terminal.Table{Head: []string{"configuration"}}
	for _, r := range runs {
		d.Head = append(d.Head, r.Run)
	}
	for _, key := range keys {
		row := []string{key}
		for _, r := range runs {
			row = append(row, r.Config[key])
		}
		d.Add(row...)
	}
	if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
		return err
	}
	return d.Write(o.host.Stdout)
}

// printCost prints what the runs cost.
func (o *compareOptions) printCost(names []string, runs []merit.Compared) error {
	list := make([]spent.Of, len(runs))
	for i, r := range runs {
		list[i] = spent.Finished(r.Summary, &run.Manifest{Repeated: r.Repeated})
	}
	t := spent.Compare(names, list)
	if len(t.Rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
		return err
	}
	return (&terminal.Table{Head: t.Head, Rows: t.Rows}).Write(o.host.Stdout)
}
