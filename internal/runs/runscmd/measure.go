package runscmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/scores"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/promote"
	"github.com/merit-rl/merit/internal/runs/measure"
	"github.com/merit-rl/merit/internal/traces/learning"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
)

// A policy that nearly always or nearly never succeeds produces groups whose members all have
// the same score. Training learns nothing from these.
const fewest, most = 0.5, 0.95

type measureOptions struct {
	playing
	what    measure.Options
	Against string `flag:"against" usage:"for a reward that compares: the policy to compare with, named as --policy is (default: the policy before training)"` // a policy
	PassAt  []int  `flag:"pass-at" usage:"estimate pass@k and pass^k: how likely at least one of k attempts at a start succeeds, and all k of them, such as 1,4,8"`
	Out     string `flag:"out" usage:"write the measurement with every episode to this JSON file" output:"yes"`
	Traces  string `flag:"traces" usage:"measure the traces that this query matches; all matches every trace"`             // query
	Store   string `flag:"store" usage:"the trace store: a file, or postgres://… (default $MERIT_TRACES, else traces.db)"` // its address
}

// NewMeasureCmd returns the command merit policy measure.
func NewMeasureCmd(h *console.Host) *cobra.Command {
	o := &measureOptions{playing: playing{host: h, player: player{host: h}}, what: measure.Options{Split: train.SplitTest}}
	cmd := console.Verb(&cobra.Command{
		Use:   "measure",
		Short: "Play episodes with a policy and measure its success and return",
		Long: `Measure plays starts of a split (by default the held-out test split) with a policy:
the configuration's (a plug-in, or the untrained network), that of a checkpoint, or
a promoted one. It prints success, return, length and every metric of the environment
and of the reward with 95 % intervals, next to the range that train.expect of the
configuration sets. It warns if the success of an untrained policy leaves little to
learn from: below 50 % or above 95 %. --out stores every episode, so that merit compare
can compare two measurements of the same starts in pairs, and merit policy promote can
use them as evidence. To score episodes in a file, use merit eval.

With --attempts, measure plays each start several times, and --episodes counts all attempts.
--pass-at then estimates how likely at least one of k attempts succeeds (pass@k), and all k
of them (pass^k): unbiased, with intervals over starts. It needs at least k attempts, and
more make the estimates precise. Merit compare compares both start by start.

If a reward compares the members of a group, as a ruler judge does, the policy of
--against plays the same starts: one half of rollout.members each, and each group
is scored in one call. The measurement has a win rate and a Bradley–Terry difference.

With --fleet, workers on this machine or others (merit fleet worker) play and score. The
measurement is the same.

With --traces, nothing is played: Merit measures recorded agent runs by the rewards
that are stored with them (merit traces score).`,
		Example: "  merit policy measure -c quickstart/train.yaml\n  merit policy measure --policy quickstart/run --out trained.json\n  merit policy measure --policy sokoban@baseline --split validation\n  merit policy measure --policy quickstart/run --attempts 8 --pass-at 1,4,8 --out trained.json\n  merit policy measure --policy quickstart/run --episodes 2000 --fleet embedded --workers 2",
		RunE:    o.run,
	}, o)
	f := cmd.Flags()
	o.flags(cmd, &o.what.Greedy, &o.what.Split)
	f.IntVar(&o.what.Episodes, "episodes", 0, "number of episodes (default: train.test_episodes of the configuration)")
	f.IntVar(&o.what.Attempts, "attempts", 0, "episodes from each start (default: one, or the largest k of --pass-at; half of rollout.members if a reward compares)")
	return cmd
}

func (o *measureOptions) run(cmd *cobra.Command, _ []string) error {
	if err := checkSplit(cmd, o.what.Split); err != nil {
		return err
	}
	if o.Out == "-" {
		return console.Usage(cmd, "use --json, which prints the measurement", "--out must name a file, not -")
	}
	if o.Out != "" {
		if _, err := os.Stat(filepath.Dir(o.Out)); err != nil {
			return console.CannotWrite(err) // before playing the episodes, not after
		}
	}
	var err error
	if o.PassAt, err = scores.PassAt(cmd, o.PassAt); err != nil {
		return err
	}
	if o.Traces != "" {
		return o.recorded(cmd)
	}
	if o.what.Episodes < 0 {
		return console.Usage(cmd, "use 1 or more", "--episodes %d is less than 0", o.what.Episodes)
	}
	cfg, err := o.load(cmd)
	if err != nil {
		return err
	}
	o.what.Episodes = cmp.Or(o.what.Episodes, cfg.Train.TestEpisodes)
	if err := o.repeated(cmd); err != nil {
		return err
	}
	var e *run.Evaluation
	err = o.play(cmd.Context(), cfg, o.what.Episodes, func(s *merit.Session, promoted *promote.Player, open train.OpenPlayer) (err error) {
		o.what.Checkpoint, o.what.OpenPlayer = o.player.checkpoint(), open
		if promoted != nil {
			o.what.Policy, o.what.Player = promoted, promoted.Who()
		}
		if err := o.compares(cfg, s); err != nil {
			return err
		}
		end, err := o.opponent(cmd.Context(), s)
		if err != nil {
			return err
		}
		e, err = measure.Run(cmd.Context(), s, o.what)
		return errors.Join(err, end())
	})
	if err != nil {
		return err
	}
	return o.finish(cfg, e, "play more attempts: --attempts "+strconv.Itoa(o.most()))
}

// finish estimates pass@k, writes the measurement and prints it. more is how to get attempts.
func (o *measureOptions) finish(cfg *merit.Config, e *run.Evaluation, more string) error {
	if err := e.PassAt(o.PassAt, more); err != nil {
		return err
	}
	if o.Out != "" {
		if err := measure.Write(o.Out, cfg, e); err != nil {
			return err
		}
	}
	return o.report(cfg, e)
}

// most returns the largest k of --pass-at, or 0.
func (o *measureOptions) most() int {
	if len(o.PassAt) == 0 {
		return 0
	}
	return slices.Max(o.PassAt)
}

// repeated checks the number of attempts, and sets it if it is not given.
func (o *measureOptions) repeated(cmd *cobra.Command) error {
	w := &o.what
	given := w.Attempts
	w.Attempts = cmp.Or(given, o.most(), 1)
	switch {
	case given < 0:
		return console.Usage(cmd, "use 1 or more", "--attempts %d is less than 0", given)
	case w.Attempts < o.most():
		return console.Usage(cmd, fmt.Sprintf("use --attempts %d or more", o.most()), "--pass-at %d needs %d attempts at every start, not %d", o.most(), o.most(), given)
	case w.Attempts > w.Episodes:
		return console.Usage(cmd, fmt.Sprintf("use --episodes %d for 100 starts", 100*w.Attempts), "%d episodes are too few for %d attempts at one start", w.Episodes, w.Attempts)
	case w.Attempts > 1 && w.Greedy:
		return console.Usage(cmd, "omit one of them", "--greedy makes all attempts at a start the same")
	}
	return nil
}

// compares checks the number of attempts for a reward that compares: such a measurement plays
// groups of rollout.members, and half of them are the policy's.
func (o *measureOptions) compares(cfg *merit.Config, s *merit.Session) error {
	half := train.PlanVersus(cfg.Rollout.Members, 1).Members
	if !train.Compares(s.Parts) || o.what.Attempts <= half {
		return nil
	}
	return &fault.Error{
		Boundary: fault.CLI, Kind: fault.Invalid, Where: "--attempts",
		What: fmt.Sprintf("a reward compares the members of a group, and with rollout.members %d a group has %d attempts of the policy, not %d", cfg.Rollout.Members, half, o.what.Attempts),
		Hint: fmt.Sprintf("set the size of the groups: --set rollout.members=%d", 2*o.what.Attempts),
	}
}

// opponent opens the policy of --against.
func (o *measureOptions) opponent(ctx context.Context, s *merit.Session) (end func() error, err error) {
	end = func() error { return nil }
	if o.Against == "" {
		return end, nil
	}
	if !train.Compares(s.Parts) {
		return nil, &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: "--against", What: "no reward of the configuration compares episodes, so each policy is measured by itself",
			Hint: "measure both with --out FILE, and compare them: merit compare FILE FILE",
		}
	}
	state, err := promote.Choose(o.Against, o.host.Env)
	if err != nil {
		return nil, err
	}
	o.what.Against = &measure.Opponent{Checkpoint: o.Against}
	if state == nil {
		return end, nil
	}
	p, err := promote.Open(ctx, s, state)
	if err != nil {
		return nil, err
	}
	o.what.Against = &measure.Opponent{Policy: p, Player: p.Who()}
	return p.Close, nil
}

// recorded measures traces.
func (o *measureOptions) recorded(cmd *cobra.Command) error {
	for _, flag := range []string{"config", "policy", "against", "greedy", "split", "episodes", "attempts", "fleet", "workers"} {
		if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
			return console.Usage(cmd, "omit it; --set train.success_score= sets the score of a success", "--%s applies to played episodes, and --traces plays none", flag)
		}
	}
	cfg, err := merit.PlayConfig(o.source.overrides(cmd.Flags())...)
	if err != nil {
		return err
	}
	s, err := store.Existing(cmd.Context(), cmp.Or(o.Store, o.host.Env(trace.Variable)))
	if err != nil {
		return err
	}
	defer s.Close()
	e, err := learning.Measure(cmd.Context(), cfg, learning.Options{Traces: s, Now: o.host.Now()})
	if err != nil {
		return err
	}
	return o.finish(cfg, e, "record more runs of each task, or choose a smaller k")
}

func (o *measureOptions) report(cfg *merit.Config, e *run.Evaluation) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(e)
	}
	s := e.Score
	t := terminal.Table{Head: []string{e.Player.String(), e.Split, "95 %", "expected", ""}}
	measured := map[string]bool{}
	add := func(name string, value float64, interval run.Interval, show func(float64) string) {
		measured[name] = true
		wanted, met := expected(cfg.Train, name, value, show)
		t.Add(name, show(value), fmt.Sprintf("[%s, %s]", show(interval[0]), show(interval[1])), wanted, met)
	}
	plain := func(x float64) string { return fmt.Sprintf("%.4g", x) }
	if w := s.Wins; w != nil {
		add(evidence.WinRate, w.Rate, w.Interval, terminal.Percent)
		add("Bradley–Terry", w.Strength, w.StrengthInterval, plain)
	}
	add("success", s.Success, s.SuccessInterval, terminal.Percent)
	add("return", s.Return, s.ReturnInterval, plain)
	add("length", s.Length, s.LengthInterval, plain)
	for _, m := range s.Metrics {
		add(m.Name, m.Mean, m.Interval, plain)
	}
	for _, m := range s.Pass {
		add(m.Name, m.Mean, m.Interval, terminal.Percent)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Train.Expect)) {
		if !measured[name] {
			wanted, _ := expected(cfg.Train, name, 0, plain)
			t.Add(name, "–", "", wanted, "not measured")
		}
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	of := ""
	if s.Clusters > 0 {
		of = fmt.Sprintf(" of %d tasks, which intervals treat as clusters", s.Clusters)
	}
	against := ""
	if e.Against != nil {
		against = fmt.Sprintf("win rate against %s in the same groups; 50 %% means equal\n", terminal.Clean(e.Against.String()))
	}
	for _, m := range s.Pass {
		if left := s.Episodes - m.Episodes; left > 0 {
			against += fmt.Sprintf("%s leaves out %d episodes, from starts where too few attempts have a score\n", m.Name, left)
		}
	}
	_, err := fmt.Fprintf(o.host.Stdout, "\n%s from %s%s, %d without a score\n%s%s", terminal.Count(len(e.Episodes), "episode"), terminal.Count(s.DistinctStarts, "distinct start"), of, s.Unscored, against, advice(e))
	return err
}

// expected returns the range that the configuration sets and whether value is in it.
func expected(c train.Config, name string, value float64, show func(float64) string) (wanted, met string) {
	r, err := c.Expected(name)
	switch {
	case r == nil || err != nil:
		return "", ""
	case value < r[0] || value > r[1]:
		met = "outside"
	default:
		met = "met"
	}
	return fmt.Sprintf("%s to %s", show(r[0]), show(r[1])), met
}

// advice warns about an untrained policy that would produce mostly groups with equal scores.
func advice(e *run.Evaluation) string {
	s := e.Score
	switch {
	case s.Wins != nil || e.Split == "traces" || e.Player.Checkpoint != "" || e.Player.From != "" || e.Player.Start != "" || s.Episodes == 0 || s.Success >= fewest && s.Success <= most:
		return ""
	case s.Success < fewest:
		return fmt.Sprintf("warning: success is below %.0f %%: in many groups no episode will succeed, and training learns nothing from these; start with an easier task, or shape the reward\n", 100*fewest)
	}
	return fmt.Sprintf("warning: success is above %.0f %%: there is little left to learn; make the task harder\n", 100*most)
}
