package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/rewards"
	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/sdk/merit"
	"github.com/merit-rl/merit/sdk/merit/fleets"
)

// fleetOptions are the flags of verbs that have others play.
type fleetOptions struct {
	address string
	workers int
}

func (o *fleetOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.address, "fleet", "", "have workers play: nats://HOST:PORT of a server, or embedded for one in this process; the bytes are the same")
	f.IntVar(&o.workers, "workers", 0, "with --fleet: how many worker processes this one starts beside itself")
}

func (o *fleetOptions) check(cmd *cobra.Command) error {
	switch {
	case o.workers < 0:
		return console.Usage(cmd, "use 0 (workers join by themselves) or more", "--workers %d is less than 0", o.workers)
	case o.workers > 0 && o.address == "":
		return console.Usage(cmd, "add --fleet embedded", "--workers are those of a fleet")
	}
	return nil
}

// crew is a fleet that plays for a session.
type crew struct {
	*fleets.Coordinator
	fleet *fleets.Opened
}

// open comes to the fleet and gives it what s is made of; nil if none was asked
// for.
func (o *fleetOptions) open(ctx context.Context, h *console.Host, s *merit.Session) (*crew, error) {
	if o.address == "" {
		return nil, nil
	}
	log := h.Logger()
	f, err := fleets.Open(ctx, o.address, s.Config, fleets.OpenOptions{
		Workers: o.workers, Options: rewards.Options(h, s.Config.Sandbox.Limits), Getenv: h.Env, Log: log,
		OnLiar: func(worker string, why error) {
			fmt.Fprintf(h.Stderr, "worker %s gave a wrong result and is excluded: %v\n", worker, why)
		},
		Joinable: func(j fleets.Joining) {
			if !h.Global.Quiet {
				fmt.Fprintf(h.Stderr, "workers join by: %s=\"$(cat %s)\" merit worker --join %s\n", fleets.KeyVariable, j.Key, j.URL)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	c, err := fleets.NewCoordinator(ctx, f, s, fleets.CoordinatorOptions{Log: log})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &crew{c, f}, nil
}

// close leaves the fleet and says what it did.
func (c *crew) close(h *console.Host) error {
	if c == nil {
		return nil
	}
	if !h.Global.Quiet {
		fmt.Fprintln(h.Stderr, "fleet: "+said(c.Totals(), c.fleet.Report()))
	}
	return c.fleet.Close()
}

// said is a line about what a fleet did.
func said(t fleets.Totals, v fleet.VerifyReport) string {
	parts := []string{fmt.Sprintf("%d shards by %d workers", t.Shards, len(t.Workers))}
	for _, x := range []struct {
		n    int
		what string
	}{{t.Redeliveries, "handed out again"}, {v.Checked, "verified"}, {v.Differed, "differed"}, {t.Refused, "refused"}, {t.Lost, "lost"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(parts, ", ")
}
