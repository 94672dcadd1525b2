package runscmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sdk/merit"
)

type validateOptions struct {
	host   *console.Host
	source source
}

// NewValidateCmd returns the validate command.
func NewValidateCmd(h *console.Host) *cobra.Command {
	o := &validateOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "validate",
		Short: "Check a configuration and the files it names",
		Long: `Validate reads the configuration, loads every reward module, starts the plug-in
with its options for each split, lays out the policy and has every reward score
a built-in conversation. It reports every problem at once and trains nothing.

For a reward that asks a language model, it prints how many calls a run makes at
most, how many tokens the question about the conversation took, and what the calls
may cost at the prices of the configuration.`,
		Example: "  merit validate -c quickstart/train.yaml",
		RunE:    o.run,
	})
	o.source.flags(cmd)
	return cmd
}

func (o *validateOptions) run(cmd *cobra.Command, _ []string) error {
	cfg, problem := o.source.load(cmd.Flags(), "")
	if cfg == nil {
		return problem
	}
	sample, err := rewardcmd.Sample()
	if err != nil {
		return err
	}
	trial, err := merit.Try(cmd.Context(), cfg, sample, rewardcmd.Options(o.host, cfg.Sandbox.Limits)...)
	if err := errors.Join(problem, err); err != nil {
		return err
	}
	return o.report(trial)
}

func (o *validateOptions) report(t *merit.Trial) error {
	m := t.Manifest
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Valid   bool        `json:"valid"`
			Rewards any         `json:"rewards"`
			Plugins any         `json:"plugins"`
			Policy  *run.Policy `json:"policy,omitempty"`
			Notes   []string    `json:"notes,omitempty"`
			Calls   any         `json:"calls,omitempty"`
		}{true, m.Rewards, m.Plugins, m.Policy, t.Notes, calls(t)})
	}
	table := terminal.Table{}
	table.Add("config", o.source.path, "ok")
	for _, p := range m.Plugins {
		table.Add("plug-in", fmt.Sprintf("%s %s", p.Name, p.Version), p.Digest)
	}
	if p := m.Policy; p != nil {
		table.Add("policy", strings.TrimSuffix(fmt.Sprintf("%s %s, %s", p.Name, p.Version, p.Model), ", "), p.Digest)
	}
	for _, r := range m.Rewards {
		table.Add("reward", fmt.Sprintf("%s × %g", r.Name, r.Weight), r.Digest)
		for i, one := range r.Chain {
			table.Add("", strings.Repeat("otherwise ", min(i, 1))+one.Name, one.Digest)
		}
	}
	for _, c := range t.Calls {
		table.Add("calls", c.Reward, c.String())
		table.Add("tokens", c.Reward, c.Cost())
	}
	if err := table.Write(o.host.Stdout); err != nil {
		return err
	}
	for _, note := range t.Notes {
		if _, err := fmt.Fprintf(o.host.Stdout, "note: %s\n", terminal.Clean(note)); err != nil {
			return err
		}
	}
	return nil
}

// calls returns the forecast for JSON, nil without one.
func calls(t *merit.Trial) any {
	if len(t.Calls) == 0 {
		return nil
	}
	return t.Calls
}
