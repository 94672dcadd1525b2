package runscmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/scores"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/promote"
	"github.com/merit-rl/merit/sdk/merit"
)

type rolloutOptions struct {
	playing
	what merit.RolloutOptions
	Out  string `flag:"out" usage:"output file; compressed if it ends in .zst or .gz, Parquet if in .parquet; - is stdout" output:"yes"`
}

// NewRolloutCmd returns the rollout command.
func NewRolloutCmd(h *console.Host) *cobra.Command {
	o := &rolloutOptions{playing: playing{host: h, player: player{host: h}}, what: merit.RolloutOptions{Split: train.SplitTrain}, Out: "-"}
	cmd := console.Verb(&cobra.Command{
		Use:   "rollout",
		Short: "Play episodes and write them with scores and advantages",
		Long: `Rollout plays groups of episodes with a policy (untrained, that of a checkpoint,
or a promoted one), scores them with the configuration's rewards, assigns credit and
writes one trajectory per line.

With --fleet, workers on this machine or others (merit fleet worker) play and score. The
trajectories are the same, byte for byte.`,
		Example: "  merit rollout -c quickstart/train.yaml --groups 4 --out episodes.jsonl\n  merit rollout --policy quickstart/run --split test --out episodes.jsonl.zst\n  merit rollout --policy quickstart/run --groups 64 --out episodes.jsonl --fleet embedded --workers 2",
		RunE:    o.run,
	}, o)
	f := cmd.Flags()
	o.flags(cmd, &o.what.Greedy, &o.what.Split)
	f.IntVar(&o.what.Groups, "groups", 0, "number of groups (default: rollout.groups of the configuration)")
	return cmd
}

func (o *rolloutOptions) run(cmd *cobra.Command, _ []string) error {
	if err := checkSplit(cmd, o.what.Split); err != nil {
		return err
	}
	if o.what.Groups < 0 {
		return console.Usage(cmd, "use 1 or more, or omit it to play rollout.groups of the configuration", "--groups %d is less than 0", o.what.Groups)
	}
	cfg, err := o.load(cmd)
	if err != nil {
		return err
	}
	o.what.Groups = cmp.Or(o.what.Groups, cfg.Rollout.Groups)
	var out *jsonl.Writer
	var played *merit.Rollout
	err = o.play(cmd.Context(), cfg, o.what.Groups*cfg.Rollout.Members, func(s *merit.Session, promoted *promote.Player, open train.OpenPlayer) (err error) {
		o.what.Checkpoint, o.what.OpenPlayer = o.player.checkpoint(), open
		if promoted != nil {
			o.what.Policy = promoted
		}
		if out, err = jsonl.Create(o.Out, o.host.Stdout); err == nil {
			played, err = s.Rollout(cmd.Context(), o.what, func(t *rl.Trajectory) error { return out.Encode(t) })
		}
		return err
	})
	if out != nil {
		defer out.Drop()
	}
	if err != nil {
		return err
	}
	return errors.Join(out.Close(), o.report(played), played.Unscored())
}

// report prints a summary: on stderr if stdout carries the episodes.
func (o *rolloutOptions) report(played *merit.Rollout) error {
	w := io.Writer(o.host.Stdout)
	if o.Out == "-" {
		w = o.host.Stderr
	} else if o.host.Global.JSON {
		return o.host.PrintJSON(played)
	}
	var t terminal.Table
	t.Add("episodes", strconv.Itoa(played.Episodes))
	if played.Branches > 0 {
		t.Add("branches", strconv.Itoa(played.Branches))
	}
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
		if asked := played.Judges[name]; asked != (judge.Totals{}) { // judges on workers are not counted here
			t.Add(name+" asked", scores.Asked(asked))
		}
	}
	return t.Write(w)
}
