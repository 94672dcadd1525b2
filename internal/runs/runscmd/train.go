// Package runscmd implements the commands that use a training configuration: quickstart, train,
// rollout, validate, schema, runs, and policy with measure, promote and rollback.
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
	"github.com/merit-rl/merit/internal/cli/scores"
	"github.com/merit-rl/merit/internal/cli/show"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/fleet/fleetcmd"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/rubric/rubricstudy"
	"github.com/merit-rl/merit/internal/rubric/study"
	"github.com/merit-rl/merit/internal/runs/spent"
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
	Resume bool         `flag:"resume" usage:"resume the run in --out; -c may be omitted"`
	Force  bool         `flag:"force" usage:"replace the run in --out"`
	From   string       `flag:"from" usage:"start from a checkpoint of another run: RUN (its best), RUN@ITERATION or RUN@last; the same as --set train.from=; -c may be omitted"`
	Traces string       `flag:"traces" usage:"train on the traces that this query matches: the same as --set traces.query=; all matches every trace"` // query
	Store  string       `flag:"store" usage:"the trace store: a file, or postgres://… (default $MERIT_TRACES, else traces.db)"`                       // its address
	kept   *store.Store // the store, once it is open
	watch  outlets.Options
	fleet  fleetcmd.Options
}

// NewTrainCmd returns the train command.
func NewTrainCmd(h *console.Host) *cobra.Command {
	o := &trainOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "train",
		Short: "Train a policy in an environment with a reward",
		Long: `Train plays groups of episodes, scores them in the sandbox, assigns credit and
updates the policy, until the target, a plateau or the last iteration. At the end it
plays the untrained and the trained policy on the same starts of the test split, and
reports how many of these are distinct and whether any occurred in training.

The run directory holds the resolved configuration, a manifest of digests, metrics,
trajectories, checkpoints, summary.json and report.html. You can stop a run at any
time and resume it with --resume. The result has the same bytes as that of an
uninterrupted run and of a run with another --parallel: config.yaml, metrics.jsonl,
starts.jsonl, trajectories/, checkpoints/ and summary.json, except for the "time"
fields and the usage of language models ("models" in "cost"), which depends on which
answers are cached. manifest.json, report.html and digests.json record when and where,
and differ.

With --from, the run starts from a checkpoint of another run, with the state of its
optimizer, and any setting may differ except the network and the form of the
environment. The table then compares with that checkpoint. A run keeps its best and its
last checkpoint; train.keep keeps more.

With --traces, nothing is played: the policy learns from recorded agent runs, call by
call, with the recorded rewards or, if the configuration names rewards, with scores
computed now. Held-out tasks show what the trained policy would have done. Merit
never trains on traces unless you ask for it.

With --fleet, workers on this machine or others (merit fleet worker) play and score. The
bytes are the same. You can resume such a run without a fleet.`,
		Example: "  merit train -c quickstart/train.yaml --out runs/first\n  merit train -c quickstart/train.yaml --iterations 20 --set advantage.estimator=grpo\n  merit train --resume --out runs/first\n  merit train --from runs/first@best --out runs/second --set ppo.learning_rate=1e-4\n  merit train -c quickstart/train.yaml --out runs/first --fleet embedded --workers 2\n  merit train --traces 'agent=planner since=7d' -c examples/two-agents/train.yaml --out runs/learnt\n  merit train -c quickstart/train.yaml --out runs/first --tensorboard logs/first --metrics 127.0.0.1:9464",
		RunE:    o.run,
	}, o)
	f := cmd.Flags()
	o.source.flags(cmd)
	o.fleet.Flags(cmd, "play")
	f.IntVar(&o.source.iterations, "iterations", 0, "the same as --set train.iterations=")
	console.OutputFolder(cmd, "out", run.Patterns()...)
	f.StringVar(&o.watch.TensorBoard, "tensorboard", "", "write event files for TensorBoard into this folder")
	f.StringVar(&o.watch.Metrics, "metrics", "", "serve the run's metrics to Prometheus at this HOST:PORT, under /metrics; :PORT listens on this machine only")
	return cmd
}

func (o *trainOptions) run(cmd *cobra.Command, _ []string) error {
	switch {
	case o.Resume && o.Out == "":
		return console.Usage(cmd, "name the run directory with --out", "--resume needs a run directory")
	case o.Resume && o.Force:
		return console.Usage(cmd, "omit one", "--resume and --force cannot be combined")
	case o.Resume && o.From != "":
		return console.Usage(cmd, "omit --from: the run has a copy of the checkpoint that it started from", "--resume and --from cannot be combined")
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
	progress, end := newTrainProgress(o.host, cfg, o.Out)
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
		if asked := s.JudgeTotals()[name]; asked != (judge.Totals{}) { // judges on workers are not counted here
			fmt.Fprintf(o.host.Stderr, "%s asked %s\n", name, scores.Asked(asked))
		}
	}
	if err != nil {
		return o.advise(err)
	}
	return o.report(summary)
}

// checked prints the result of the reward check.
func (o *trainOptions) checked(r *study.Report) {
	if o.host.Global.Quiet {
		return
	}
	fmt.Fprintln(o.host.Stderr, "rubric check: "+r.Line())
}

// open opens a session for an environment, or for traces.
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

// watched opens the outlets that the flags name and prints the address of the metrics.
func (o *trainOptions) watched() (*outlets.Telemetry, error) {
	o.watch.Log = o.host.Logger()
	watch, err := outlets.Open(o.watch)
	if err == nil && watch.URL() != "" && !o.host.Global.Quiet {
		fmt.Fprintln(o.host.Stderr, "metrics at "+watch.URL())
	}
	return watch, err
}

// advise adds the command that resumes a run that was stopped or that lost its policy.
func (o *trainOptions) advise(err error) error {
	f := fault.As(err)
	if _, none := run.ReadManifest(o.Out); none != nil || f == nil {
		return err
	}
	command := "resume with: merit train --resume --out " + console.Quote(o.Out)
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

// withoutPassword returns the address of a store without its password.
func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

func (o *trainOptions) load(cmd *cobra.Command) (*merit.Config, error) {
	switch {
	case o.Resume:
		return o.source.load(cmd.Flags(), o.Out)
	case o.From != "":
		dir, _, err := merit.SplitCheckpoint(o.From)
		if err != nil {
			return nil, err
		}
		return o.source.load(cmd.Flags(), dir)
	}
	return o.source.load(cmd.Flags(), "")
}

func (o *trainOptions) report(s *run.Summary) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(s)
	}
	m, err := run.ReadManifest(o.Out)
	if err != nil {
		return err
	}
	t := terminal.Table{Head: []string{"", m.Before(), "95 %", "trained", "95 %"}}
	row := func(name string, before, after string, interval func(run.Score) string) {
		trained := interval(s.Trained.Score)
		if m.Traces != nil && s.Trained.Episodes == 0 {
			after, trained = "–", "not estimated"
		}
		t.Add(name, before, interval(s.Baseline.Score), after, trained)
	}
	shares := func(i run.Interval) string { return fmt.Sprintf("[%.1f, %.1f]", 100*i[0], 100*i[1]) }
	numbers := func(i run.Interval) string { return fmt.Sprintf("[%.2f, %.2f]", i[0], i[1]) }
	if w := s.Trained.Wins; w != nil {
		t.Add("win rate", "50 %", "", terminal.Percent(w.Rate), shares(w.Interval))
		t.Add("Bradley–Terry", "0", "", fmt.Sprintf("%+.2f", w.Strength), numbers(w.StrengthInterval))
	}
	row("success", terminal.Percent(s.Baseline.Success), terminal.Percent(s.Trained.Success), func(x run.Score) string { return shares(x.SuccessInterval) })
	row("return", fmt.Sprintf("%.3f", s.Baseline.Return), fmt.Sprintf("%.3f", s.Trained.Return), func(x run.Score) string { return numbers(x.ReturnInterval) })
	row("length", fmt.Sprintf("%.1f", s.Baseline.Length), fmt.Sprintf("%.1f", s.Trained.Length), func(x run.Score) string { return numbers(x.LengthInterval) })
	if b, a := s.Baseline.Greedy, s.Trained.Greedy; b != nil && a != nil {
		if w := a.Wins; w != nil {
			t.Add("greedy win rate", "50 %", "", terminal.Percent(w.Rate), shares(w.Interval))
		}
		t.Add("greedy success", terminal.Percent(b.Success), shares(b.SuccessInterval), terminal.Percent(a.Success), shares(a.SuccessInterval))
	}
	for _, name := range run.MetricNames(s.Baseline.Score, s.Trained.Score) {
		t.Add(slices.Concat([]string{name}, show.Metric(s.Baseline.Score, name), show.Metric(s.Trained.Score, name))...)
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.host.Stdout, "\n%d test episodes each, p = %.2g (%s)\n%s\n%s after %s, %d steps, %.0f s; the best is iteration %d\ncost: %s\nreport: %s\n",
		s.Trained.Episodes, s.PValue, s.Test, s.Starts, stopText(s.Stop), iterations(s.Iterations), s.EnvSteps, s.Time.Training+s.Time.Evaluation, s.Best, cmp.Or(spent.Finished(s, m).Line(), "not measured on this system"), o.Out+"/"+run.ReportFile)
	return err
}

func iterations(n int) string {
	if n == 1 {
		return "1 iteration"
	}
	return fmt.Sprintf("%d iterations", n)
}

func stopText(r run.StopReason) string {
	switch r {
	case run.StopTarget:
		return "target reached"
	case run.StopBeats:
		return "baseline beaten"
	case run.StopPlateau:
		return "no more progress"
	case run.StopSteps:
		return "budget of steps used up"
	case run.StopAlarm:
		return "stopped by a red flag"
	}
	return "all done"
}
