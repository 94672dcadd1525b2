package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/rewards"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/sandbox"
)

type validateOptions struct {
	host   *console.Host
	source source
}

func newValidateCmd(h *console.Host) *cobra.Command {
	o := &validateOptions{host: h}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a configuration and everything that it names",
		Long: `Validate reads the configuration, loads every reward module, starts the plug-in
with its options for each split and lays out the policy. It reports every
problem at once and trains nothing.`,
		Example: "  merit validate -c examples/sokoban/train.yaml",
		Args:    console.NoArgs,
		RunE:    o.run,
	}
	o.source.flags(cmd.Flags())
	return cmd
}

func (o *validateOptions) run(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	file, problem := o.source.load(cmd.Flags(), "")
	if file == nil {
		return problem
	}
	s := &session{file: file}
	pluginErr := o.plugin(ctx, s)
	loaded, rewardErr := o.rewards(ctx, file, problem)
	if loaded != nil {
		s.rewards = loaded
		defer loaded.Close(ctx)
	}
	if err := errors.Join(problem, pluginErr, rewardErr); err != nil {
		return err
	}
	return o.report(s)
}

// rewards loads the modules. With a broken configuration only those that it
// could name are tried, and only if the sandbox can be set up.
func (o *validateOptions) rewards(ctx context.Context, file *config.File, broken error) (*rewards.Loaded, error) {
	if broken != nil && len(file.Sandbox.Validate()) > 0 {
		return nil, nil
	}
	var there []config.Reward
	for _, r := range file.Rewards {
		if console.FileExists(r.Module) || sandbox.IsScript(r.Module) {
			there = append(there, r) // the others are problems of the configuration already
		}
	}
	return rewards.LoadAll(ctx, o.host, file.Sandbox, there)
}

// plugin starts the plug-in for each split and lays out the policy for it.
func (o *validateOptions) plugin(ctx context.Context, s *session) error {
	cfg, err := s.file.Environment.Host(train.SplitTrain)
	if err != nil || s.file.Environment.Plugin == "" || len(cfg.Validate()) > 0 {
		return nil // a problem of the configuration already
	}
	if err := openPlugin(ctx, o.host, s, train.SplitTrain, train.SplitValidation, train.SplitTest); err != nil {
		return err
	}
	if len(s.file.Policy.Validate()) > 0 {
		return nil // likewise
	}
	_, err = learn.NewPolicy(s.file.Policy, learn.Input{Shape: s.plugin.FeatureShape, Actions: s.plugin.Actions}, rl.Seed(s.file.Seed))
	return err
}

func (o *validateOptions) report(s *session) error {
	m := s.manifest(o.host)
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Valid   bool `json:"valid"`
			Rewards any  `json:"rewards"`
			Plugins any  `json:"plugins"`
		}{true, m.Rewards, m.Plugins})
	}
	t := ui.Table{}
	t.Add("config", o.source.path, "ok")
	for _, p := range m.Plugins {
		t.Add("plug-in", fmt.Sprintf("%s %s", p.Name, p.Version), p.Digest)
	}
	for _, r := range m.Rewards {
		t.Add("reward", fmt.Sprintf("%s × %g", r.Name, r.Weight), r.Digest)
	}
	return t.Write(o.host.Stdout)
}
