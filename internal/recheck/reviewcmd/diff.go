package reviewcmd

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/review"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type diffOptions struct {
	host      *console.Host
	Rewards   []string `flag:"reward" usage:"two rewards instead of two files, as for merit eval"`
	With      []string `flag:"with" usage:"parameters of a script as a JSON object, one for each --reward in order"`
	Data      string   `flag:"data" usage:"trajectories that the rewards score and whose advantages are compared"`
	Config    string   `flag:"config,c" usage:"configuration whose align and advantage sections are used (default: Merit's defaults)"`
	Estimator string   `flag:"estimator" usage:"estimator of the advantages, instead of the configuration's"`
	Indexing  string   `flag:"step-index" usage:"what step_index counts in the files: assistant or message"`
	Limit     int      `flag:"limit" usage:"largest number of rows in each table; 0 shows all"`
	Sandbox   sandbox.Config
}

// NewDiffCmd returns merit reward diff.
func NewDiffCmd(h *console.Host) *cobra.Command {
	o := &diffOptions{host: h, Limit: 10, Indexing: string(reward.ByAssistant)}
	cmd := console.Verb(&cobra.Command{
		Use:   "diff RESULTS RESULTS",
		Short: "Compare the results of two rewards or two versions of one",
		Long: `Diff compares two files of results (merit eval --out), or scores one file of
trajectories with two rewards. It lists outcomes, scores and rewards of steps that
changed, the largest change first. With --data, if the trajectories have groups, it
also estimates the advantages of both sides and lists those that changed. Changes of
sign come first, because the learner would then discourage what it encouraged before.
Trajectories without steps get one for each message of the assistant.

The exit code is 12 if any number or outcome differs, and 0 otherwise. The reason and
the cost (fuel) of a reward do not count as differences.`,
		Example: "  merit reward diff before.jsonl after.jsonl --data trajectories.jsonl\n" +
			"  merit reward diff --reward old.wasm --reward new.wasm --data trajectories.jsonl",
		Args: o.args,
		RunE: o.run,
	}, o)
	console.Values(cmd, "estimator", advantage.Names()...)
	console.Values(cmd, "step-index", string(reward.ByAssistant), string(reward.ByMessage))
	return console.Paged(h, cmd)
}

// args checks that there are two files, or two rewards and the data that they score.
func (o *diffOptions) args(cmd *cobra.Command, args []string) error {
	switch {
	case len(o.Rewards) == 0 && len(args) == 2:
	case len(o.Rewards) == 2 && len(args) == 0 && o.Data != "":
	default:
		return console.Usage(cmd, "", "%s takes two files of results, or --reward twice and --data", cmd.CommandPath())
	}
	if len(o.With) > len(o.Rewards) {
		return console.Usage(cmd, "", "--with is set %d times for %d rewards", len(o.With), len(o.Rewards))
	}
	if o.Data == "-" {
		return console.Usage(cmd, "write the data to a file first", "--data is read more than once, so it cannot be stdin")
	}
	if o.Indexing != string(reward.ByAssistant) && o.Indexing != string(reward.ByMessage) {
		return console.Usage(cmd, "", "--step-index must be assistant or message, not %q", o.Indexing)
	}
	return nil
}

func (o *diffOptions) run(cmd *cobra.Command, args []string) error {
	credit, err := o.credit()
	if err != nil {
		return err
	}
	names := args
	if len(o.Rewards) == 2 {
		names = o.Rewards
	}
	var sides [2][]scoring.Result
	for k := range sides {
		if len(o.Rewards) == 2 {
			sides[k], credit.Indexing[k], err = o.score(cmd.Context(), k)
		} else {
			sides[k], err = o.results(args[k])
		}
		if err != nil {
			return err
		}
	}
	r := review.Compare(sides[0], sides[1])
	r.A.Name, r.B.Name = names[0], names[1]
	if o.Data != "" {
		if r.Advantages, err = o.advantages(credit, sides); err != nil {
			return err
		}
	}
	if o.host.Global.JSON {
		err = o.host.PrintJSON(r)
	} else {
		err = o.print(r)
	}
	if err != nil || !r.Differs() {
		return err
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Differs, Where: names[1], What: "differs from " + names[0],
		Hint: "check the largest changes above; if they are intended, keep the new version",
	}
}

// credit returns how advantages are estimated.
func (o *diffOptions) credit() (review.Credit, error) {
	c := review.Credit{Align: align.DefaultConfig(), Advantage: advantage.Default()}
	c.Indexing = [2]reward.StepIndexing{reward.StepIndexing(o.Indexing), reward.StepIndexing(o.Indexing)}
	if o.Config != "" {
		cfg, err := merit.LoadPartial(o.Config)
		if err != nil {
			return c, err
		}
		c.Align, c.Advantage = cfg.Align, cfg.Advantage
	}
	if o.Estimator != "" {
		c.Advantage.Estimator = o.Estimator
	}
	var problems []error
	for _, err := range c.Advantage.Validate() {
		f := *fault.As(err)
		f.Boundary, f.Where = fault.CLI, "--"+f.Where
		problems = append(problems, &f)
	}
	return c, errors.Join(problems...)
}

func (o *diffOptions) results(path string) ([]scoring.Result, error) {
	in, err := jsonl.Open(path, o.host.Stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	results, err := scoring.ReadResults(in)
	o.host.Notes(in.Notes())
	return results, err
}

// score evaluates the data with reward k, as merit eval does.
func (o *diffOptions) score(ctx context.Context, k int) ([]scoring.Result, reward.StepIndexing, error) {
	with := ""
	if k < len(o.With) {
		with = o.With[k]
	}
	named, err := rewardcmd.Name(o.Rewards[k], with)
	if err != nil {
		return nil, "", err
	}
	r, err := rewardcmd.Load(ctx, o.host, o.Sandbox, named)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	var text bytes.Buffer
	if _, err := r.Evaluate(ctx, merit.EvaluateOptions{Data: o.Data, Out: "-", Stdout: &text}); err != nil {
		return nil, "", err
	}
	in, err := jsonl.NewReader(o.Rewards[k], &text)
	if err != nil {
		return nil, "", err
	}
	results, err := scoring.ReadResults(in)
	return results, reward.NewPool(r.Parts, 1).StepIndexing(), err
}

func (o *diffOptions) advantages(credit review.Credit, sides [2][]scoring.Result) (*review.Advantages, error) {
	var all []*rl.Trajectory
	for t, err := range jsonl.Trajectories(o.Data) {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return review.CompareAdvantages(credit, all, sides[0], sides[1])
}
