package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/sdk/merit"
)

type compareOptions struct{ host *console.Host }

func newCompareCmd(h *console.Host) *cobra.Command {
	o := &compareOptions{host: h}
	return &cobra.Command{
		Use:     "compare RUN RUN...",
		Short:   "Compare finished runs: what differs in their configuration, and what came of it",
		Example: "  merit compare runs/gigpo runs/grpo",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return console.Usage(cmd, "", "%s takes two runs or more", cmd.CommandPath())
			}
			return nil
		},
		RunE: o.run,
	}
}

func (o *compareOptions) run(_ *cobra.Command, args []string) error {
	runs, keys, err := merit.Compare(args...)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(runs)
	}
	return o.print(runs, keys)
}

func (o *compareOptions) print(runs []merit.Compared, keys []string) error {
	t := ui.Table{Head: []string{"run", "untrained", "trained", "95 %", "return", "length", "p", "iterations", "steps", "seconds"}}
	for _, r := range runs {
		s := r.Summary
		t.Add(r.Run, ui.Percent(s.Baseline.Success), ui.Percent(s.Trained.Success),
			fmt.Sprintf("[%.1f, %.1f]", 100*s.Trained.SuccessInterval[0], 100*s.Trained.SuccessInterval[1]),
			fmt.Sprintf("%.3f", s.Trained.Return), fmt.Sprintf("%.1f", s.Trained.Length), fmt.Sprintf("%.2g", s.PValue),
			strconv.Itoa(s.Iterations), fmt.Sprint(s.EnvSteps), fmt.Sprintf("%.0f", s.Time.Training))
	}
	if err := t.Write(o.host.Stdout); err != nil || len(keys) == 0 {
		return err
	}
	d := ui.Table{Head: []string{"configuration"}}
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
