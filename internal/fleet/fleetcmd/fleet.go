package fleetcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// Variable names the server of a fleet for verbs that are not told one.
const Variable = "MERIT_FLEET"

// looking is what the verbs that look at a fleet share.
type looking struct {
	host    *console.Host
	Address string `flag:"fleet" usage:"address of the server (default $MERIT_FLEET)"`
	access
}

// look comes to the server.
func (l *looking) look(ctx context.Context) (*queue.Admin, error) {
	o := queue.Options{URL: cmp.Or(l.Address, l.host.Env(Variable)), Name: "admin", Log: l.host.Logger()}
	if o.URL == "" {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "--fleet", What: "nobody says which server", Hint: "give its address, or set " + Variable}
	}
	var err error
	if o.Seed, o.TLS, err = fleet.Credentials(l.config(), l.host.Env); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // who looks wants to know now
	defer cancel()
	return queue.Look(ctx, o)
}

// NewCmd is the verb fleet, with more verbs below it.
func NewCmd(h *console.Host, more ...*cobra.Command) *cobra.Command {
	return console.GroupOf(&cobra.Command{
		Use:   "fleet",
		Short: "Run and monitor a fleet of workers",
		Long: `Fleet looks at the workers that a server has, at what waits for them and at what
they log, and lets them go. Workers join with merit fleet worker; merit train --fleet
gives them work. It makes the keys by which all of them know each other, and runs a
server that stays when runs come and go.`,
		Example: "  merit fleet status --fleet nats://127.0.0.1:4222 --key boss.key\n  merit fleet drain local-1 --fleet nats://127.0.0.1:4222 --key boss.key",
	}, append([]*cobra.Command{newStatusCmd(h), newDrainCmd(h), newLogsCmd(h), newKeygenCmd(h), newServeCmd(h), newWorkerCmd(h), newAccountsCmd(h)}, more...)...)
}

func newStatusCmd(h *console.Host) *cobra.Command {
	l := &struct {
		looking
		JSON  bool `flag:"json" usage:"as JSON"`
		Watch bool `flag:"watch" usage:"show it again and again, until Ctrl-C"`
	}{looking: looking{host: h}}
	return renamed(console.Verb(&cobra.Command{
		Use:   "status",
		Short: "Who works, and what waits",
		Long: `Status lists the workers: how much they do at one time, what they have done, how
long a shard takes them, and who is slow, which is twice as long as the median.
Below are the queues, by build and label: what waits, what is under way, what was
handed out more than once, and how old the oldest shard is; and how many shards
were given up within three days. With --watch it is shown again every two seconds,
until Ctrl-C.`,
		Example: "  merit fleet status --fleet nats://127.0.0.1:4222 --key eyes.key\n  merit fleet status --fleet nats://127.0.0.1:4222 --key eyes.key --json\n  merit fleet status --fleet nats://127.0.0.1:4222 --key eyes.key --watch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := l.look(cmd.Context())
			if err != nil {
				return err
			}
			defer a.Close()
			show := func() error {
				s, err := a.Status(cmd.Context())
				if err != nil {
					return err
				}
				if l.JSON {
					return h.PrintJSON(s)
				}
				return print(h, s)
			}
			if l.Watch {
				return l.again(cmd.Context(), show)
			}
			return show()
		},
	}, l))
}

// every is how often --watch looks.
const every = 2 * time.Second

// again shows something until ctx ends: on a terminal in one place, else one below
// the other.
func (l *looking) again(ctx context.Context, show func() error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if l.host.StdoutTerminal {
			fmt.Fprint(l.host.Stdout, "\x1b[H\x1b[2J") // home, and clear
		}
		if err := show(); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		fmt.Fprintln(l.host.Stdout)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// print writes s as tables.
func print(h *console.Host, s *queue.Status) error {
	t := terminal.Table{Head: []string{"worker", "host", "slots", "busy", "done", "failed", "seconds", "labels", "build", ""}}
	median := medianSeconds(s.Workers)
	for _, w := range s.Workers {
		note := ""
		switch {
		case w.Drains:
			note = "drains"
		case median > 0 && w.Seconds > 2*median:
			note = "slow"
		}
		t.Add(w.Name, inline(w.Host), fmt.Sprint(w.Slots), fmt.Sprint(w.Busy), fmt.Sprint(w.Done), fmt.Sprint(w.Failed), fmt.Sprintf("%.2f", w.Seconds), strings.Join(w.Labels, " "), w.Build, note)
	}
	if err := t.Write(h.Stdout); err != nil {
		return err
	}
	if s.Dead > 0 {
		fmt.Fprintf(h.Stdout, "\n%d shards were given up within three days: their episodes have the outcome infrastructure\n", s.Dead)
	}
	if len(s.Queues) == 0 {
		return nil
	}
	fmt.Fprintln(h.Stdout)
	q := terminal.Table{Head: []string{"queue", "label", "waiting", "under way", "redelivered", "oldest"}}
	for _, x := range s.Queues {
		q.Add(x.Build, x.Label, fmt.Sprint(x.Waiting), fmt.Sprint(x.Underway), fmt.Sprint(x.Redelivered), x.Oldest.Round(time.Second).String())
	}
	return q.Write(h.Stdout)
}

// inline is text of a worker on one line: with line breaks in it, it could pass
// for another's row or line.
func inline(s string) string { return strings.ReplaceAll(terminal.Printable(s), "\n", `\n`) }

// medianSeconds is over workers that have done something.
func medianSeconds(workers []queue.Worker) float64 {
	var all []float64
	for _, w := range workers {
		if w.Done > 0 {
			all = append(all, w.Seconds)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func newDrainCmd(h *console.Host) *cobra.Command {
	l := &struct {
		looking
		All bool `flag:"all" usage:"every worker that is there"`
	}{looking: looking{host: h}}
	return renamed(console.Verb(&cobra.Command{
		Use:     "drain [WORKER …]",
		Short:   "Let workers finish what they have, and go",
		Long:    "Drain tells workers to take nothing more, to finish what they have, and to end, with\nexit code 0. What they do not finish within a minute goes back and is computed by\nothers.",
		Example: "  merit fleet drain local-1 --fleet nats://127.0.0.1:4222 --key boss.key\n  merit fleet drain --all --fleet nats://127.0.0.1:4222 --key boss.key",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if l.All == (len(names) > 0) {
				return console.Usage(cmd, "name workers, or give --all", "which workers?")
			}
			a, err := l.look(cmd.Context())
			if err != nil {
				return err
			}
			defer a.Close()
			if l.All {
				s, err := a.Status(cmd.Context())
				if err != nil {
					return err
				}
				for _, w := range s.Workers {
					names = append(names, w.Name)
				}
			}
			var problems []error
			for _, name := range names {
				if err := a.Drain(cmd.Context(), name); err != nil {
					problems = append(problems, err)
					continue
				}
				fmt.Fprintln(h.Stdout, name, "drains")
			}
			return errors.Join(problems...)
		},
	}, l))
}

func newLogsCmd(h *console.Host) *cobra.Command {
	l := &struct {
		looking
		Follow bool `flag:"follow" usage:"go on until Ctrl-C"`
	}{looking: looking{host: h}}
	return renamed(console.Verb(&cobra.Command{
		Use:     "logs [WORKER]",
		Short:   "What workers log",
		Long:    "Logs shows what workers have logged within a day, in the order of time; with --follow\nalso what they log from now on, until Ctrl-C. Workers log warnings and errors, and\nmore if they are started with --log-level info.",
		Example: "  merit fleet logs local-1 --fleet nats://127.0.0.1:4222 --key boss.key\n  merit fleet logs --follow --fleet nats://127.0.0.1:4222 --key boss.key",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			a, err := l.look(cmd.Context())
			if err != nil {
				return err
			}
			defer a.Close()
			quiet := true
			err = a.Logs(cmd.Context(), strings.Join(names, ""), l.Follow, func(line queue.Line) bool {
				quiet = false
				_, err := fmt.Fprintf(h.Stdout, "%s %s %s\n", line.At.UTC().Format(time.RFC3339), line.Worker, inline(line.Text))
				return err == nil
			})
			if err == nil && quiet && !l.Follow && !h.Global.Quiet {
				fmt.Fprintln(h.Stderr, "nothing was logged within a day; workers log warnings, and more with merit fleet worker --log-level info")
			}
			return err
		},
	}, l))
}
