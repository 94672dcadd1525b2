package runscmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/fleet/fleetcmd"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sdk/merit"
)

type rolloutOptions struct {
	host   *console.Host
	source source
	player player
	fleet  fleetcmd.Options
	play   merit.RolloutOptions
	out    string
}

// NewRolloutCmd is the verb rollout.
func NewRolloutCmd(h *console.Host) *cobra.Command {
	o := &rolloutOptions{host: h, player: player{host: h}}
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Play episodes and write them with scores and advantages",
		Long: `Rollout plays groups of episodes with a policy (untrained, that of a checkpoint,
or a promoted one), scores them with the configuration's rewards, assigns credit and
writes one trajectory a line.

With --fleet workers play and score, on this machine or others (merit worker), and
the trajectories are the same, byte for byte.`,
		Example: "  merit rollout -c quickstart/train.yaml --groups 4 --out episodes.jsonl\n  merit rollout --policy quickstart/run --split test --out episodes.jsonl.zst\n  merit rollout --policy quickstart/run --groups 64 --out episodes.jsonl --fleet embedded --workers 2",
		Args:    console.NoArgs,
		RunE:    o.run,
	}
	f := cmd.Flags()
	o.source.flags(cmd)
	o.player.flags(cmd)
	o.fleet.Flags(cmd, "play")
	f.BoolVar(&o.play.Greedy, "greedy", false, "take the likeliest action instead of sampling")
	f.StringVar(&o.play.Split, "split", train.SplitTrain, "which tasks: train, validation or test")
	f.IntVar(&o.play.Groups, "groups", 0, "how many groups (default: rollout.groups of the configuration)")
	f.StringVar(&o.out, "out", "-", "where to write; compressed if it ends in .zst or .gz, Parquet if in .parquet; - is stdout")
	console.Output(cmd, "out")
	console.Values(cmd, "split", train.Splits()...)
	return cmd
}

func (o *rolloutOptions) run(cmd *cobra.Command, _ []string) error {
	if !slices.Contains(train.Splits(), o.play.Split) {
		return console.Usage(cmd, "use one of "+strings.Join(train.Splits(), ", "), "--split %q is not a split", o.play.Split)
	}
	if o.play.Groups < 0 {
		return console.Usage(cmd, "use 1 or more; without it rollout.groups are played", "--groups %d is less than 0", o.play.Groups)
	}
	if err := o.fleet.Check(cmd); err != nil {
		return err
	}
	dir, err := o.player.choose(cmd)
	if err == nil {
		err = o.player.suits(o.fleet)
	}
	if err != nil {
		return err
	}
	cfg, err := o.source.load(cmd.Flags(), dir)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if o.play.Groups == 0 {
		o.play.Groups = cfg.Rollout.Groups
	}
	progress := newProgress(o.host, merit.RolloutProgress, "episodes", o.play.Groups*cfg.Rollout.Members)
	defer progress.close()
	s, err := merit.Open(ctx, cfg, append(rewardcmd.Options(o.host, cfg.Sandbox.Limits), merit.WithProgress(progress))...)
	if err != nil {
		return err
	}
	defer s.Close()
	o.play.Checkpoint = o.player.checkpoint()
	promoted, err := o.player.open(ctx, s)
	if err != nil {
		return err
	}
	if promoted != nil {
		defer promoted.Close()
		o.play.Policy = promoted
	}
	out, err := jsonl.Create(o.out, o.host.Stdout)
	if err != nil {
		return err
	}
	defer out.Drop()
	workers, err := o.fleet.Player(ctx, o.host, s)
	if err != nil {
		return err
	}
	o.play.OpenPlayer = workers.OpenPlayer()
	played, err := s.Rollout(ctx, o.play, func(t *rl.Trajectory) error { return out.Encode(t) })
	progress.close()
	if err := errors.Join(err, workers.Close(o.host)); err != nil {
		return err
	}
	return errors.Join(out.Close(), o.report(played), played.Unscored())
}

// report prints what was played: on stderr where stdout carries the episodes.
func (o *rolloutOptions) report(played *merit.Rollout) error {
	w := io.Writer(o.host.Stdout)
	if o.out == "-" {
		w = o.host.Stderr
	} else if o.host.Global.JSON {
		return o.host.PrintJSON(played)
	}
	var t terminal.Table
	t.Add("episodes", strconv.Itoa(played.Episodes))
	t.Add("steps", strconv.Itoa(played.Steps))
	for _, stop := range slices.Sorted(maps.Keys(played.Stops)) {
		t.Add(stop, strconv.Itoa(played.Stops[stop]))
	}
	for _, outcome := range slices.Sorted(maps.Keys(played.Outcomes)) {
		t.Add(outcome, strconv.Itoa(played.Outcomes[outcome]))
	}
	mean := "–" // no score is not 0
	if played.Score != nil {
		mean = fmt.Sprintf("%.4f", *played.Score)
	}
	t.Add("mean score", mean)
	for _, name := range slices.Sorted(maps.Keys(played.Judges)) {
		if asked := played.Judges[name]; asked != (judge.Totals{}) { // workers ask by themselves
			t.Add(name+" asked", judged(asked))
		}
	}
	return t.Write(w)
}

// judged says what a judge was asked, and what that cost.
func judged(t judge.Totals) string {
	text := fmt.Sprintf("%d questions, %d of them twice; %d answers were kept from before; %d + %d tokens", t.Questions-t.Cached, t.Retried, t.Cached, t.PromptTokens, t.CompletionTokens)
	if t.Cost > 0 {
		text += fmt.Sprintf(", cost %.4g", t.Cost)
	}
	return text
}
