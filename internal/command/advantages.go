package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/data/rowio"
	"github.com/merit-rl/merit/sdk/merit"
)

type advantagesOptions struct {
	host *console.Host
	In   string `flag:"in" usage:"rows to read; - is stdin" files:"jsonl,parquet,csv,tsv,zst,gz"`
	Out  string `flag:"out" usage:"where to write, compressed if it ends in .zst or .gz, as a table if in .parquet, .csv or .tsv; - is stdout" output:"yes"`
	cfg  advantage.Config
}

func newAdvantagesCmd(h *console.Host, more ...*cobra.Command) *cobra.Command {
	o := &advantagesOptions{host: h, cfg: advantage.Default(), Out: "-", In: "-"}
	cmd := console.Verb(&cobra.Command{
		Use:   "advantages",
		Short: "Compute advantages for rows from any source",
		Long: `Advantages reads steps, one per line (group, trajectory, step, observation, reward,
episode_score) or one per row of Parquet, CSV or TSV. It writes the same rows with
return, episode_advantage, step_advantage, advantage and anchor_group added. Rows with
branch_of and branch_at belong to trajectories that branch off others.

Estimators:
` + estimatorList(),
		Example: "  merit advantages --in rows.jsonl --out advantages.jsonl\n  merit advantages --estimator grpo --normalization mean_std_norm < rows.jsonl",
		RunE:    o.run,
	}, o)
	cmd.AddCommand(more...)
	f := cmd.Flags()
	c := &o.cfg
	f.StringVar(&c.Estimator, "estimator", c.Estimator, "the estimator that computes the advantages")
	f.Float64Var(&c.Gamma, "gamma", c.Gamma, "discount of later rewards, from 0 to 1")
	f.Float64Var(&c.Lambda, "lambda", c.Lambda, "gae, gagpo: λ, from 0 to 1")
	f.Float64Var(&c.Omega, "omega", c.Omega, "gigpo, graphgpo, tigpo, g2po: weight of the step advantage")
	f.StringVar((*string)(&c.Normalization), "normalization", string(c.Normalization), "mean_norm or mean_std_norm")
	f.StringVar((*string)(&c.BaselineOver), "baseline-over", string(c.BaselineOver), "what counts once in the mean of a group: trajectories or steps")
	f.StringVar((*string)(&c.Singleton), "singleton", string(c.Singleton), "episode advantage in a group of one: zero or raw")
	f.StringVar((*string)(&c.Combine), "combine", string(c.Combine), "gigpo, graphgpo, tigpo, g2po: sum (A_E + ω A_S) or convex (ω A_E + (1−ω) A_S)")
	f.StringVar(&c.Episode, "episode", c.Episode, "gigpo, graphgpo, tigpo, g2po: what A_E compares: the score with its group (group), or the return with the batch (batch)")
	f.Float64Var(&c.Similarity, "similarity", c.Similarity, "treat anchors with at least this similarity ratio as equal; 0 requires identical anchors")
	f.Float64Var(&c.Epsilon, "epsilon", c.Epsilon, "added to a standard deviation")
	f.Float64Var(&c.InvalidActionPenalty, "invalid-action-penalty", c.InvalidActionPenalty, "penalty for steps with valid: false; 0 turns it off")
	f.IntVar(&c.History, "history", c.History, "hgpo: number of observations before the current one")
	f.Float64Var(&c.HistoryExponent, "history-exponent", c.HistoryExponent, "hgpo: exponent of the level weights")
	f.Float64Var(&c.SuccessScore, "success-score", c.SuccessScore, "graphgpo, tigpo: score above which a trajectory succeeded")
	f.Float64Var(&c.DistanceDecay, "distance-decay", c.DistanceDecay, "graphgpo, tigpo: factor for each step that a state is further from a success")
	f.StringVar(&c.Distance, "distance", c.Distance, "graphgpo, tigpo: value a step by the distance after it (next) or by its change (progress)")
	f.IntVar(&c.KeptEdges, "kept-edges", c.KeptEdges, "tigpo: the most edges of earlier iterations to remember")
	for key, words := range merit.Words() {
		if name, ok := strings.CutPrefix(key, "advantage."); ok {
			console.Values(cmd, strings.ReplaceAll(name, "_", "-"), words...)
		}
	}
	return cmd
}

func estimatorList() string {
	var t terminal.Table
	var b strings.Builder
	for _, e := range advantage.Estimators() {
		t.Add("", e.Name, e.Summary)
	}
	_ = t.Write(&b) // a strings.Builder cannot fail
	return b.String()
}

func (o *advantagesOptions) run(cmd *cobra.Command, _ []string) error {
	if err := o.check(); err != nil {
		return err
	}
	in, err := jsonl.Open(o.In, o.host.Stdin)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := jsonl.Create(o.Out, o.host.Stdout)
	if err != nil {
		return err
	}
	defer out.Drop()
	stats, err := rowio.EstimateFile(o.cfg, in, out)
	if err = errors.Join(err, cmd.Context().Err()); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	o.host.Notes(in.Notes())
	return o.report(stats)
}

// check reports each invalid setting as an error of the command line.
func (o *advantagesOptions) check() error {
	var problems []error
	for _, err := range o.cfg.Validate() {
		f := *fault.As(err)
		f.Boundary, f.Where = fault.CLI, "--"+strings.ReplaceAll(f.Where, "_", "-")
		problems = append(problems, &f)
	}
	return errors.Join(problems...)
}

// report prints statistics of the batch to stdout, or to stderr if the rows go to
// stdout.
func (o *advantagesOptions) report(s advantage.Stats) error {
	w := io.Writer(o.host.Stdout)
	switch {
	case o.Out == "-" && o.host.Global.Quiet:
		return nil
	case o.Out == "-":
		w = o.host.Stderr
	case o.host.Global.JSON:
		return o.host.PrintJSON(s)
	}
	var t terminal.Table
	t.Add("rows", fmt.Sprintf("%d", s.Rows))
	t.Add("trajectories", fmt.Sprintf("%d", s.Trajectories))
	if s.Branches > 0 {
		t.Add("of them, branches", fmt.Sprintf("%d", s.Branches))
	}
	t.Add("groups", fmt.Sprintf("%d", s.Groups))
	t.Add("anchor groups", fmt.Sprintf("%d", s.AnchorGroups))
	t.Add("mean anchor-group size", fmt.Sprintf("%.2f", s.MeanAnchorGroup))
	t.Add("steps with a unique anchor", terminal.Percent(s.SingletonShare))
	t.Add("steps with a step advantage", terminal.Percent(s.StepAdvantageShare))
	t.Add("groups with zero variance", terminal.Percent(s.ZeroVarianceShare))
	return t.Write(w)
}
