// Package playcmd implements merit play, which continues recorded episodes.
package playcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/show"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/play"
	"github.com/merit-rl/merit/internal/promote"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sdk/merit"
)

// every is the value of --at that tries every step.
const every = "every"

type options struct {
	host     *console.Host
	Fork     string   `flag:"fork" usage:"the run directory or the file of trajectories with the recorded episode" needed:"yes" files:"jsonl,zst,gz,parquet"`
	At       string   `flag:"at" usage:"do not ask: try actions at this step, from 0, or continue from every step"`
	Action   []string `flag:"action" usage:"with --at N: take this action, or policy for the policy's own choice (repeatable; default: each available one)"`
	Times    int      `flag:"continuations,k" usage:"how often the policy plays on from a state"`
	Limit    int      `flag:"limit" usage:"with --at every: at most this many episodes; 0 takes all that match"`
	Policy   string   `flag:"policy" usage:"who plays on: a run directory (its best checkpoint), RUN@ITERATION, RUN@last, a file in its checkpoints folder, or a promoted policy (default: that of --fork, or of the configuration)"`
	Greedy   bool     `flag:"greedy" usage:"take the most likely action instead of sampling, so that one continuation is enough"`
	Config   string   `flag:"config,c" usage:"configuration file (default: that of the run)" files:"yaml,yml"`
	Set      []string `flag:"set" usage:"override a value of the configuration: key.path=value (repeatable)"`
	Parallel int      `flag:"parallel" usage:"the same as --set rollout.parallel=; it never changes a result"`
	Split    string   `flag:"split" usage:"which tasks the episode is from: train, validation or test (default: as its id says)" words:"train,validation,test"`
	Out      string   `flag:"out" usage:"with --at N, write the continuations as trajectories; with --at every, write each step with its process reward" output:"yes"`
}

// NewCmd returns the play command.
func NewCmd(h *console.Host) *cobra.Command {
	o := &options{host: h, Times: 64, Limit: 20}
	return console.Verb(&cobra.Command{
		Use:   "play [EPISODE]",
		Short: "Step through a recorded episode, take other actions, and let the policy play on",
		Long: `Play opens a recorded episode with its environment, rewards and policy, and plays it
again. If the environment does not repeat it, the error names the step. You then step
through it, see what the policy would do in each state, and take another action: the
policy plays on from there, and play shows how often that succeeds, next to the recorded
action. Both begin in the same state with the same random numbers, so the difference is
due to the action.

With --at N, play tries the actions at step N and exits. With --at every, it lets the
policy play on from each state, finds the step at which the episode was lost, and tries
the other actions there. EPISODE may then be a pattern for several episodes (* and ?).
Continuations never change the run.`,
		Example: `  merit play --fork quickstart/run test-trained-g0-m0
  merit play --fork quickstart/run test-trained-g0-m0 --at 7
  merit play --fork quickstart/run test-trained-g0-m0 --at 7 --action up -k 256 --json
  merit play --fork quickstart/run 'test-trained-g?-m0' --at every -k 32 --out steps.jsonl`,
		Args: console.AtMost("EPISODE"),
		RunE: o.run,
	}, o)
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	if err := o.check(cmd, args); err != nil {
		return err
	}
	files, err := show.Files(o.Fork)
	if err != nil {
		return err
	}
	episodes, err := play.Find(files, append(args, "*")[0])
	if err != nil {
		return err
	}
	if o.At != every && len(episodes) > 1 {
		return several(episodes)
	}
	if o.Limit > 0 && len(episodes) > o.Limit {
		if !o.host.Global.Quiet {
			fmt.Fprintf(o.host.Stderr, "the first %d of %d episodes; --limit 0 takes all\n", o.Limit, len(episodes))
		}
		episodes = episodes[:o.Limit]
	}
	return o.open(cmd.Context(), episodes)
}

// check returns an error if flags or arguments are wrong.
func (o *options) check(cmd *cobra.Command, args []string) error {
	step, err := strconv.Atoi(o.At)
	switch {
	case o.At != "" && o.At != every && (err != nil || step < 0):
		return console.Usage(cmd, "use the number of a step, from 0, or every", "--at %q is not a step", o.At)
	case (o.At == "" || o.At == every) && len(o.Action) > 0:
		return console.Usage(cmd, "say where: --at 7", "--action needs --at with the number of a step")
	case o.At == "" && (o.Out != "" || o.host.Global.JSON):
		return console.Usage(cmd, "add --at 7 or --at every", "--out and --json need --at, which asks no questions")
	case o.Limit < 0:
		return console.Usage(cmd, "use 1 or more, or 0 for all", "--limit %d is less than 0", o.Limit)
	case o.Times < 1:
		return console.Usage(cmd, "use 1 or more", "--continuations %d is less than 1", o.Times)
	case o.Greedy && cmd.Flags().Changed("continuations") && o.Times > 1:
		return console.Usage(cmd, "omit -k or --greedy", "--greedy makes all %d continuations the same", o.Times)
	case o.Split != "" && !slices.Contains(train.Splits(), o.Split):
		return console.Usage(cmd, "use one of "+strings.Join(train.Splits(), ", "), "--split %q is not a split", o.Split)
	case len(args) > 0:
		if _, err := path.Match(args[0], ""); err != nil {
			return console.Usage(cmd, "write * for any text", "%q is not a pattern", args[0])
		}
	}
	if o.Greedy {
		o.Times = 1
	}
	return nil
}

// several returns the error of an episode that is not chosen.
func several(episodes []*rl.Trajectory) error {
	var some []string
	for _, t := range episodes[:min(len(episodes), 3)] {
		some = append(some, t.ID)
	}
	return &fault.Error{
		Boundary: fault.CLI, Kind: fault.Missing, Where: "EPISODE", What: fmt.Sprintf("%d episodes match, such as %s", len(episodes), strings.Join(some, ", ")),
		Hint: "name one of them, or continue from every step of all with --at every",
	}
}

// open opens everything that plays, and plays.
func (o *options) open(ctx context.Context, episodes []*rl.Trajectory) (err error) {
	dir, promoted, err := o.choose()
	if err != nil {
		return err
	}
	cfg, err := o.load(dir)
	if err != nil {
		return err
	}
	s, err := merit.Open(ctx, cfg, rewardcmd.Options(o.host, cfg.Sandbox.Limits)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, who, err := o.policy(ctx, s, promoted)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := o.changed(s.Manifest()); err != nil {
		return err
	}
	t := &table{options: o, session: s, policy: p, who: who.String(), players: map[string]*play.Player{}}
	defer func() { err = errors.Join(err, t.close()) }()
	return t.play(ctx, episodes)
}

// changed says which environments and rewards are no longer those of the run: the recording may not
// have met the difference, but continuations can.
func (o *options) changed(now run.Manifest) error {
	if info, err := os.Stat(o.Fork); err != nil || !info.IsDir() || o.Config != "" {
		return nil
	}
	before, err := run.ReadManifest(o.Fork)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, p := range before.Plugins {
		known[p.Digest] = true
	}
	for _, r := range before.Rewards {
		known[r.Digest] = true
	}
	say := func(what, name, digest string) {
		if !known[digest] {
			fmt.Fprintf(o.host.Stderr, "note: %s %s has changed since the run, so continuations show what happens now\n", what, terminal.Clean(name))
		}
	}
	for _, p := range now.Plugins {
		say("environment", p.Name, p.Digest)
	}
	for _, r := range now.Rewards {
		say("reward", r.Name, r.Digest)
	}
	return nil
}

// choose resolves the policy, and returns the directory whose configuration is used if the
// command line names none.
func (o *options) choose() (dir string, promoted *promote.State, err error) {
	if info, err := os.Stat(o.Fork); err == nil && info.IsDir() {
		dir = o.Fork
		if _, err := os.Stat(filepath.Join(dir, run.ConfigFile)); err == nil {
			o.Policy = cmp.Or(o.Policy, dir)
		}
	}
	if o.Policy == "" {
		return dir, nil, nil
	}
	if promoted, err = promote.Choose(o.Policy, o.host.Env); err != nil {
		return "", nil, err
	}
	if dir == "" && promoted != nil {
		dir = promoted.ConfigDir()
	} else if dir == "" {
		dir, _, err = merit.SplitCheckpoint(o.Policy)
	}
	return dir, promoted, err
}

func (o *options) load(dir string) (*merit.Config, error) {
	set := o.Set
	if o.Parallel != 0 {
		set = append(set, "rollout.parallel="+strconv.Itoa(o.Parallel))
	}
	switch {
	case o.Config != "":
		return merit.LoadConfig(o.Config, set...)
	case dir != "":
		return merit.LoadRun(dir, set...)
	}
	return nil, &fault.Error{
		Boundary: fault.CLI, Kind: fault.Missing, Where: o.Fork, What: "a file of trajectories does not say which environment played them",
		Hint: "name the configuration with -c, or the run whose policy plays on with --policy",
	}
}

// closing is a policy that must be closed.
type closing interface {
	policy.Policy
	Close() error
}

// policy opens who plays on.
func (o *options) policy(ctx context.Context, s *merit.Session, promoted *promote.State) (closing, run.Player, error) {
	if promoted != nil {
		p, err := promote.Open(ctx, s, promoted)
		if err != nil {
			return nil, run.Player{}, err
		}
		return p, p.Who(), nil
	}
	var c *run.Checkpoint
	var who run.Player
	if o.Policy != "" {
		dir, name, err := merit.SplitCheckpoint(o.Policy)
		if err == nil {
			c, err = run.ReadCheckpoint(dir, name)
		}
		if err != nil {
			return nil, who, err
		}
		who = run.Player{Checkpoint: c.Digest, From: filepath.ToSlash(o.Policy)}
	}
	p, err := s.OpenPlayer(ctx, nil, c)
	if err != nil {
		return nil, who, err
	}
	who.Policy = s.Config.WhoActs(p)
	return p, who, nil
}

// output is a file that a command writes, or none.
type output struct{ *jsonl.Writer }

func (o *options) create() (output, error) {
	if o.Out == "" {
		return output{}, nil
	}
	w, err := jsonl.Create(o.Out, o.host.Stdout)
	return output{w}, err
}

func (w output) write(v any) error {
	if w.Writer == nil {
		return nil
	}
	return w.Encode(v)
}

// close completes the file, or removes it after an error.
func (w output) close(err error) error {
	switch {
	case w.Writer == nil:
		return err
	case err != nil:
		w.Drop()
		return err
	}
	return w.Close()
}
