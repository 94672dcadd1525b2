// Package runscmd holds the verbs that a configuration stands behind: train,
// rollout, validate and schema.
package runscmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/show"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/fleet/fleetcmd"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/rubric/rubricstudy"
	"github.com/merit-rl/merit/internal/rubric/study"
	coretelemetry "github.com/merit-rl/merit/internal/telemetry"
	"github.com/merit-rl/merit/internal/telemetry/outlets"
	"github.com/merit-rl/merit/internal/traces/learning"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
)

type trainOptions struct {
	host   *console.Host
	source source
	Out    string       `flag:"out" usage:"run directory (default runs/<time>)"`
	Resume bool         `flag:"resume" usage:"go on with the run in --out; -c may be omitted"`
	Force  bool         `flag:"force" usage:"replace the run in --out"`
	Traces string       `flag:"traces" usage:"learn from the traces that this query chooses: the same as --set traces.query=; all is every trace"` // query
	Store  string       `flag:"store" usage:"where the traces are: a file, or postgres://… (default $MERIT_TRACES, else traces.db)"`               // its address
	kept   *store.Store // the store, once it is open
	watch  outlets.Options
	fleet  fleetcmd.Options
}

// NewTrainCmd is the verb train.
func NewTrainCmd(h *console.Host) *cobra.Command {
	o := &trainOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "train",
		Short: "Train a policy in an environment against a reward",
		Long: `Train plays groups of episodes, scores them in the sandbox, assigns credit and
updates the policy, until the target, a plateau or the last iteration. It ends
with the untrained and the trained policy on the same starts of the test split,
and says how many of them are distinct and whether training has seen any.

The run directory holds the resolved config, a manifest of digests, metrics,
trajectories, checkpoints, summary.json and report.html. A run that was stopped
at any moment goes on with --resume and ends with the same bytes as one that was
not, and as one with another --parallel: those of config.yaml, metrics.jsonl,
starts.jsonl, trajectories/, checkpoints/ and summary.json, without their "time"
fields. manifest.json, report.html and digests.json say when and where, and differ.

With --traces nothing is played: what agents did already is learnt from, call by
call, with the rewards that were recorded or, if the configuration names some,
computed now. Tasks that are held out say what the trained policy would have made
of them. Nothing is ever trained from traces unless it is asked for so.

With --fleet workers play and score, on this machine or others (merit fleet worker), and
the bytes are the same. What a run did with a fleet goes on without one too.`,
		Example: "  merit train -c quickstart/train.yaml --out runs/first\n  merit train -c quickstart/train.yaml --iterations 20 --set advantage.estimator=grpo\n  merit train --resume --out runs/first\n  merit train -c quickstart/train.yaml --out runs/first --fleet embedded --workers 2\n  merit train --traces 'agent=planner since=7d' -c examples/two-agents/train.yaml --out runs/learnt\n  merit train -c quickstart/train.yaml --out runs/first --tensorboard logs/first --metrics 127.0.0.1:9464",
		RunE:    o.run,
	}, o)
	f := cmd.Flags()
	o.source.flags(cmd)
	o.fleet.Flags(cmd, "play")
	f.IntVar(&o.source.iterations, "iterations", 0, "the same as --set train.iterations=")
	console.OutputFolder(cmd, "out", run.Patterns()...)
	f.StringVar(&o.watch.TensorBoard, "tensorboard", "", "write event files for TensorBoard into this folder")
	f.StringVar(&o.watch.Metrics, "metrics", "", "show the run to Prometheus at this HOST:PORT, under /metrics; :PORT is this machine alone")
	return cmd
}

func (o *trainOptions) run(cmd *cobra.Command, _ []string) error {
	switch {
	case o.Resume && o.Out == "":
		return console.Usage(cmd, "name the run directory with --out", "--resume needs to know which run")
	case o.Resume && o.Force:
		return console.Usage(cmd, "omit one of them", "--resume and --force contradict each other")
	case o.Out == "":
		o.Out = merit.DefaultDir(o.host.Now())
	}
	if err := o.fleet.Check(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	cfg, err := o.load(cmd)
	if err != nil {
		return err
	}
	watch, err := o.watched()
	if err != nil {
		return err
	}
	defer watch.Close()
	progress, end := newTrainProgress(o.host, cfg)
	defer end()
	s, err := o.open(ctx, cfg, append(rewardcmd.Options(o.host, cfg.Sandbox.Limits), merit.WithProgress(coretelemetry.Fan{progress, watch}))...)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.kept != nil {
		defer o.kept.Close()
		if !o.host.Global.Quiet {
			fmt.Fprintln(o.host.Stderr, s.Manifest().Traces)
		}
	}
	options := merit.TrainOptions{Dir: o.Out, Resume: o.Resume, Overwrite: o.Force, Check: rubricstudy.Before(s, o.checked)}
	player, err := o.fleet.Player(ctx, o.host, s)
	if err != nil {
		return err
	}
	options.OpenPlayer = player.OpenPlayer()
	if player != nil {
		if err := watch.Also(player.Gauges()); err != nil {
			return errors.Join(err, player.Close(o.host))
		}
	}
	summary, err := s.Train(ctx, options)
	end()
	err = errors.Join(err, player.Close(o.host))
	for _, name := range slices.Sorted(maps.Keys(s.JudgeTotals())) {
		if asked := s.JudgeTotals()[name]; asked != (judge.Totals{}) { // workers ask by themselves
			fmt.Fprintf(o.host.Stderr, "%s asked %s\n", name, judged(asked))
		}
	}
	if err != nil {
		return o.advise(err)
	}
	return o.report(summary)
}

// checked says what a check of the reward found.
func (o *trainOptions) checked(r *study.Report) {
	if o.host.Global.Quiet {
		return
	}
	fmt.Fprintln(o.host.Stderr, "rubric check: "+r.Line())
}

// open opens the session: of an environment, or of traces.
func (o *trainOptions) open(ctx context.Context, cfg *merit.Config, opts ...merit.Option) (*merit.Session, error) {
	if !cfg.Traced() {
		return merit.Open(ctx, cfg, opts...)
	}
	var err error
	if o.kept, err = store.Existing(ctx, cmp.Or(o.Store, o.host.Env(trace.Variable))); err != nil {
		return nil, err
	}
	options := learning.Options{Traces: o.kept, Now: o.host.Now()}
	if o.Resume {
		options.Resume = o.Out
	}
	s, err := learning.Open(ctx, cfg, options, opts...)
	if err != nil {
		return nil, errors.Join(err, o.kept.Close())
	}
	return s, nil
}

// watched opens what the flags ask for and says where it is.
func (o *trainOptions) watched() (*outlets.Telemetry, error) {
	o.watch.Log = o.host.Logger()
	watch, err := outlets.Open(o.watch)
	if err == nil && watch.URL() != "" && !o.host.Global.Quiet {
		fmt.Fprintln(o.host.Stderr, "metrics at "+watch.URL())
	}
	return watch, err
}

// advise gives the command that goes on with a run that was stopped, or whose
// policy was lost.
func (o *trainOptions) advise(err error) error {
	f := fault.As(err)
	if _, none := run.ReadManifest(o.Out); none != nil || f == nil {
		return err
	}
	command := "go on with: merit train --resume --out " + console.Quote(o.Out)
	if o.Store != "" {
		command += " --store " + console.Quote(withoutPassword(o.Store))
	}
	switch {
	case errors.Is(err, fault.Of("", fault.Interrupted)):
		f.Hint = command
	case f.Retry:
		f.Hint = strings.TrimPrefix(f.Hint+"; then "+command, "; then ")
	}
	return err
}

// withoutPassword is an address of a store as it may be shown.
func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

func (o *trainOptions) load(cmd *cobra.Command) (*merit.Config, error) {
	if o.Resume {
		return o.source.load(cmd.Flags(), o.Out)
	}
	return o.source.load(cmd.Flags(), "")
}

func (o *trainOptions) report(s *run.Summary) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(s)
	}
	before := "untrained"
	if o.kept != nil {
		before = "collected"
	}
	t := terminal.Table{Head: []string{"", before, "95 %", "trained", "95 %"}}
	row := func(name string, before, after string, interval func(run.Score) string) {
		t.Add(name, before, interval(s.Baseline.Score), after, interval(s.Trained.Score))
	}
	shares := func(i run.Interval) string { return fmt.Sprintf("[%.1f, %.1f]", 100*i[0], 100*i[1]) }
	numbers := func(i run.Interval) string { return fmt.Sprintf("[%.2f, %.2f]", i[0], i[1]) }
	row("success", terminal.Percent(s.Baseline.Success), terminal.Percent(s.Trained.Success), func(x run.Score) string { return shares(x.SuccessInterval) })
	row("return", fmt.Sprintf("%.3f", s.Baseline.Return), fmt.Sprintf("%.3f", s.Trained.Return), func(x run.Score) string { return numbers(x.ReturnInterval) })
	row("length", fmt.Sprintf("%.1f", s.Baseline.Length), fmt.Sprintf("%.1f", s.Trained.Length), func(x run.Score) string { return numbers(x.LengthInterval) })
	if b, a := s.Baseline.Greedy, s.Trained.Greedy; b != nil && a != nil {
		t.Add("greedy success", terminal.Percent(b.Success), shares(b.SuccessInterval), terminal.Percent(a.Success), shares(a.SuccessInterval))
	}
	for _, name := range run.MetricNames(s.Baseline.Score, s.Trained.Score) {
		t.Add(slices.Concat([]string{name}, show.Metric(s.Baseline.Score, name), show.Metric(s.Trained.Score, name))...)
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.host.Stdout, "\n%d test episodes each, p = %.2g (%s)\n%s\n%s after %d iterations, %d steps, %.0f s; the best is iteration %d\nreport: %s\n",
		s.Trained.Episodes, s.PValue, s.Test, s.Starts, stopText(s.Stop), s.Iterations, s.EnvSteps, s.Time.Training+s.Time.Evaluation, s.Best, o.Out+"/"+run.ReportFile)
	return err
}

func stopText(r run.StopReason) string {
	switch r {
	case run.StopTarget:
		return "target reached"
	case run.StopPlateau:
		return "no more progress"
	case run.StopSteps:
		return "budget of steps used up"
	case run.StopAlarm:
		return "stopped by an alarm"
	}
	return "all done"
}
