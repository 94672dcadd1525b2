package runscmd

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/fleet/fleetcmd"
	"github.com/merit-rl/merit/internal/promote"
	"github.com/merit-rl/merit/sdk/merit"
)

// player is who plays: what --policy says, else $MERIT_POLICY, else the
// configuration's policy.
type player struct {
	host *console.Host
	word string

	promoted *promote.State // nil for a run, a checkpoint, or the configuration's policy
}

func (p *player) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.word, "policy", "", "a run directory (its best checkpoint), a file in its checkpoints folder, or a promoted policy: NAME, NAME@baseline, NAME@2 or its folder (default: $"+promote.PolicyVariable+", else the configuration's policy)")
	console.DefaultsTo(cmd, "policy", promote.PolicyVariable)
}

// choose finds who plays, and returns whose configuration is used if the command
// line names none.
func (p *player) choose(cmd *cobra.Command) (dir string, err error) {
	if !cmd.Flags().Changed("policy") {
		p.word = p.host.Env(promote.PolicyVariable)
	}
	if p.word == "" {
		return "", nil
	}
	if p.promoted, err = promote.Choose(p.word, p.host.Env); err != nil {
		return "", err
	}
	if p.promoted != nil {
		return p.promoted.ConfigDir(), nil
	}
	dir, _, err = merit.SplitCheckpoint(p.word)
	return dir, err
}

// checkpoint is the path of who plays, unless that is a promoted policy.
func (p *player) checkpoint() string {
	if p.promoted != nil {
		return ""
	}
	return p.word
}

// suits refuses to have a fleet play a promoted policy: that may be two policies, by
// share, and an order names one.
func (p *player) suits(f fleetcmd.Options) error {
	if p.promoted == nil || f.Address == "" {
		return nil
	}
	instead := "--policy " + console.Quote(p.promoted.ConfigDir())
	if p.promoted.Current == 0 {
		instead = "-c " + console.Quote(filepath.Join(p.promoted.ConfigDir(), run.ConfigFile)) + " and no policy"
	}
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Refused, Where: p.word, What: "a promoted policy is a part of this process, which workers do not have",
		Hint: "name what is promoted: " + instead + "; or play without a fleet",
	}
}

// open makes the players of a promoted policy; nil if none plays.
func (p *player) open(ctx context.Context, s *merit.Session) (*promote.Player, error) {
	if p.promoted == nil {
		return nil, nil
	}
	p.host.Logger().Info("policy", "name", p.word, "plays", fmt.Sprint(p.promoted.Playing()))
	return promote.Open(ctx, s, p.promoted)
}
