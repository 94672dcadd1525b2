package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/jsonl"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

type rolloutOptions struct {
	host   *console.Host
	source source
	policy string
	greedy bool
	split  string
	groups int
	out    string
	count  played
}

func newRolloutCmd(h *console.Host) *cobra.Command {
	o := &rolloutOptions{host: h, count: played{Stops: map[string]int{}, Outcomes: map[string]int{}}}
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Play episodes and write them, scored and with advantages",
		Long: `Rollout plays groups of episodes with a policy (untrained, or that of a
checkpoint), scores them with the configuration's rewards, assigns credit and
writes one trajectory a line.`,
		Example: "  merit rollout -c examples/sokoban/train.yaml --groups 4 --out episodes.jsonl\n  merit rollout --policy runs/quickstart --split test --out episodes.jsonl.zst",
		Args:    console.NoArgs,
		RunE:    o.run,
	}
	f := cmd.Flags()
	o.source.flags(f)
	f.StringVar(&o.policy, "policy", "", "a run directory (its best checkpoint) or a file in its checkpoints folder")
	f.BoolVar(&o.greedy, "greedy", false, "take the likeliest action instead of sampling")
	f.StringVar(&o.split, "split", train.SplitTrain, "which tasks: train, validation or test")
	f.IntVar(&o.groups, "groups", 0, "how many groups (default: rollout.groups of the configuration)")
	f.StringVar(&o.out, "out", "-", "where to write; compressed if it ends in .zst or .gz; - is stdout")
	return cmd
}

func (o *rolloutOptions) run(cmd *cobra.Command, _ []string) error {
	dir, name, err := o.checkpoint()
	if err != nil {
		return err
	}
	file, err := o.source.load(cmd.Flags(), dir)
	if err != nil {
		return err
	}
	if o.groups <= 0 {
		o.groups = file.Rollout.Groups
	}
	ctx := cmd.Context()
	s, err := open(ctx, o.host, file)
	if err != nil {
		return err
	}
	defer s.rewards.Close(ctx)
	p, err := o.newPolicy(ctx, s, dir, name)
	if err != nil {
		return err
	}
	out, err := jsonl.Create(o.out, o.host.Stdout)
	if err != nil {
		return err
	}
	defer out.Drop()
	unscored, err := o.play(ctx, s, p, out)
	if err != nil {
		return err
	}
	return errors.Join(out.Close(), o.report(), unscored)
}

// played counts what was written.
type played struct {
	Episodes int            `json:"episodes"`
	Steps    int            `json:"steps"`
	Stops    map[string]int `json:"stops"`
	Outcomes map[string]int `json:"outcomes"`
	Score    float64        `json:"mean_score"` // of the scored episodes
}

func (c *played) add(t *rl.Trajectory) {
	c.Episodes++
	c.Steps += len(t.Steps)
	c.Stops[string(t.StopReason)]++
	c.Outcomes[t.Outcome]++
	if n := c.Outcomes[string(reward.Scored)]; t.Outcome == string(reward.Scored) {
		c.Score += (t.Evaluation.Score - c.Score) / float64(n)
	}
}

// report prints what was played: on stderr where stdout carries the episodes.
func (o *rolloutOptions) report() error {
	w := io.Writer(o.host.Stdout)
	if o.out == "-" {
		w = o.host.Stderr
	} else if o.host.Global.JSON {
		return o.host.PrintJSON(o.count)
	}
	var t ui.Table
	t.Add("episodes", strconv.Itoa(o.count.Episodes))
	t.Add("steps", strconv.Itoa(o.count.Steps))
	for _, stop := range slices.Sorted(maps.Keys(o.count.Stops)) {
		t.Add(stop, strconv.Itoa(o.count.Stops[stop]))
	}
	for _, outcome := range slices.Sorted(maps.Keys(o.count.Outcomes)) {
		t.Add(outcome, strconv.Itoa(o.count.Outcomes[outcome]))
	}
	t.Add("mean score", fmt.Sprintf("%.4f", o.count.Score))
	return t.Write(w)
}

// checkpoint splits --policy into a run directory and a checkpoint's name.
func (o *rolloutOptions) checkpoint() (dir, name string, err error) {
	if o.policy == "" {
		return "", "", nil
	}
	info, err := os.Stat(o.policy)
	if err != nil {
		return "", "", console.CannotRead(err)
	}
	if info.IsDir() {
		return o.policy, run.Best, nil
	}
	folder := filepath.Dir(o.policy)
	if filepath.Base(folder) != run.Checkpoints {
		return "", "", &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: o.policy, What: "is not in the checkpoints folder of a run",
			Hint: "give the run directory, or RUN/" + run.Checkpoints + "/" + run.Last,
		}
	}
	return filepath.Dir(folder), filepath.Base(o.policy), nil
}

// newPolicy makes the untrained policy and puts a checkpoint into it, if one
// is named.
func (o *rolloutOptions) newPolicy(ctx context.Context, s *session, dir, name string) (policy.Policy, error) {
	e, err := s.openEnv(ctx, o.split, 0)
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	if err := e.Close(); err != nil {
		return nil, err
	}
	p, err := train.Untrained(s.file.Settings(), spec)
	if dir != "" {
		p, err = trained(s.file.Settings(), spec, dir, name)
	}
	switch {
	case err != nil:
		return nil, err
	case o.greedy:
		return p.Greedy(), nil
	}
	return p, nil
}

func trained(s train.Settings, spec env.Spec, dir, name string) (*learn.Policy, error) {
	checkpoint, err := run.ReadCheckpoint(dir, name)
	if err != nil {
		return nil, err
	}
	return train.Trained(s, spec, checkpoint)
}

// play collects, scores and writes, a collection of the configured size at a
// time. The first error says why nothing more came, the second that there are
// trajectories without a score.
func (o *rolloutOptions) play(ctx context.Context, s *session, p policy.Policy, out io.Writer) (unscored, err error) {
	open := func(ctx context.Context, worker int) (env.Env, error) { return s.openEnv(ctx, o.split, worker) }
	collector, err := rollout.New(s.file.Rollout, open, p, rollout.WithLogger(o.host.Logger()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, collector.Close()) }()
	pipeline := credit.Pipeline{Align: s.file.Align, Advantage: &s.file.Advantage}
	pipeline.Rewards = reward.NewPool(s.rewards.Parts, s.file.Rollout.Parallel)
	progress := o.host.Progress("rollout", "episodes", int64(o.groups*s.file.Rollout.Members))
	defer progress.Close()
	for first := 0; first < o.groups; first += s.file.Rollout.Groups {
		plan := rollout.Plan{
			Seed: rl.Seed(s.file.Seed).Child(credit.SeedRollout), FirstGroup: first,
			Groups: min(s.file.Rollout.Groups, o.groups-first), Prefix: o.split + "-",
		}
		groups, _, err := collector.Collect(ctx, plan, func(r rollout.Progress) {
			progress.Set(int64(first*s.file.Rollout.Members+r.Episodes), "")
		})
		if err != nil {
			return nil, err
		}
		few, err := o.credit(ctx, &pipeline, groups, out)
		if err != nil {
			return nil, err
		}
		unscored = errors.Join(unscored, few)
	}
	return unscored, nil
}

// credit scores groups, assigns credit and writes the trajectories.
func (o *rolloutOptions) credit(ctx context.Context, p *credit.Pipeline, groups []*rl.Group, out io.Writer) (unscored, err error) {
	batch, unscored := p.Run(ctx, groups)
	if batch == nil {
		return nil, unscored
	}
	for _, t := range batch.Trajectories {
		o.count.add(t)
		if err := console.WriteLine(out, t); err != nil {
			return nil, fmt.Errorf("writing %s: %w", t.ID, err)
		}
	}
	return unscored, nil
}
