package rewardcmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/sandbox"
)

type benchOptions struct {
	host     *console.Host
	Data     string        `flag:"data" usage:"trajectories to score (default: the reward's fixtures)"`
	Duration time.Duration `flag:"time" usage:"how long to score each trajectory"`
	Script
	Sandbox sandbox.Config
}

func newBenchCmd(h *console.Host) *cobra.Command {
	o := &benchOptions{host: h, Duration: 200 * time.Millisecond}
	return console.Verb(&cobra.Command{
		Use:   "bench [FOLDER|MODULE]",
		Short: "Measure the fuel, time and memory of a reward, and compare them with the limits",
		Long: `Bench scores each fixture repeatedly, one at a time and with full isolation, and
prints fuel, mean, median and 99th percentile. For each limit, it prints the largest
use and its share of the limit.`,
		Example: "  merit reward bench exactness",
		Args:    folderOrModule,
		RunE:    o.run,
	}, o)
}

// measurement is the cost of one fixture.
type measurement struct {
	ID          string         `json:"id"`
	Outcome     reward.Outcome `json:"outcome"`
	Evaluations int            `json:"evaluations"`
	Fuel        uint64         `json:"fuel"`
	FuelShare   float64        `json:"fuel_share"` // share of the limit
	MeanNS      float64        `json:"mean_ns"`
	P50NS       int64          `json:"p50_ns"`
	P99NS       int64          `json:"p99_ns"`
	PerSecond   float64        `json:"evaluations_per_second"`

	trajectory *rl.Trajectory
	evaluation reward.Evaluation
}

func (o *benchOptions) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	n, err := o.named(args)
	if err != nil {
		return err
	}
	files, j, err := loadToTry(ctx, o.host, o.Sandbox, n, o.Data, true)
	if err != nil {
		return err
	}
	defer j.Close()
	var all []measurement
	for _, f := range files {
		for _, t := range f.trajectories {
			m, err := o.measure(ctx, j.Parts[0].Scorer, t)
			if err != nil {
				return err
			}
			all = append(all, m)
		}
	}
	return o.report(j.Modules[0], all)
}

// measure scores t repeatedly until the time is over; the first evaluations are a warm-up and
// do not count.
func (o *benchOptions) measure(ctx context.Context, s reward.Scorer, t *rl.Trajectory) (measurement, error) {
	const warmUp = 3
	one := func() reward.Evaluation {
		if g, ok := s.(reward.GroupScorer); ok && s.Info().Group {
			return g.EvaluateGroup(ctx, []*rl.Trajectory{t})[0]
		}
		return s.Evaluate(ctx, t)
	}
	var last reward.Evaluation
	for range warmUp {
		last = one()
	}
	m := measurement{
		ID: t.ID, Outcome: last.Outcome, Fuel: last.Fuel, FuelShare: float64(last.Fuel) / float64(o.Sandbox.Fuel),
		trajectory: t, evaluation: last,
	}
	var times []time.Duration
	began := o.host.Now()
	for at := began; len(times) == 0 || at.Sub(began) < o.Duration; {
		one()
		if ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
		now := o.host.Now()
		times = append(times, now.Sub(at))
		at = now
	}
	slices.Sort(times)
	var sum time.Duration
	for _, d := range times {
		sum += d
	}
	n := len(times)
	m.Evaluations = n
	m.MeanNS = float64(sum) / float64(n)
	m.P50NS, m.P99NS = int64(times[n/2]), int64(times[min(n-1, n*99/100)])
	m.PerSecond = 1e9 / m.MeanNS
	return m, nil
}

func (o *benchOptions) report(m *sandbox.Module, all []measurement) error {
	shares := limitShares(m, o.Sandbox.Limits, all)
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Reward       reward.Info    `json:"reward"`
			Limits       sandbox.Limits `json:"limits"`
			Shares       []limitShare   `json:"shares"`
			Measurements []measurement  `json:"measurements"`
		}{m.Info(), o.Sandbox.Limits, shares, all})
	}
	if err := writeEntry(o.host.Stdout, m.Info()); err != nil {
		return err
	}
	t := terminal.Table{Head: []string{"fixture", "outcome", "fuel", "mean", "p50", "p99", "per second"}}
	for _, m := range all {
		t.Add(terminal.Clean(m.ID), string(m.Outcome), fmt.Sprint(m.Fuel), micros(m.MeanNS), micros(float64(m.P50NS)), micros(float64(m.P99NS)), fmt.Sprintf("%.0f", m.PerSecond))
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	l := terminal.Table{Head: []string{"limit", "most used", "of", "share"}}
	for _, s := range shares {
		l.Add(s.Limit, s.shown(s.Used), s.shown(s.Most), fmt.Sprintf("%.3f %%", 100*s.Share))
	}
	if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
		return err
	}
	return l.Write(o.host.Stdout)
}

func micros(ns float64) string { return fmt.Sprintf("%.1f µs", ns/1e3) }
