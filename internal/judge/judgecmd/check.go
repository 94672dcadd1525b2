package judgecmd

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/judge/agreement"
	"github.com/merit-rl/merit/internal/judge/judgecheck"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type checkOptions struct {
	host    *console.Host
	Config  string   `flag:"config,c" usage:"configuration file whose rewards include a judge" files:"yaml,yml" needed:"yes"`
	Set     []string `flag:"set" usage:"override a value of the configuration: key.path=value (repeatable)"`
	Data    string   `flag:"data" usage:"trajectories with group and label; - is stdin" needed:"yes"`
	Label   string   `flag:"label" usage:"column with the label: a number, higher for better"`
	Truth   string   `flag:"truth" usage:"a reward whose score is the label: a .wasm module, a .py file, or the folder of a reward"`
	Columns []string `flag:"map" usage:"NAME=COLUMN: read a field, such as group, from another column (repeatable)"`
	sandbox sandbox.Config
}

func newCheckCmd(h *console.Host) *cobra.Command {
	o := &checkOptions{host: h, Label: "label"}
	cmd := console.Verb(&cobra.Command{
		Use:   "check",
		Short: "Measure on labeled data whether a judge can be trusted",
		Long: `Check asks every judge of a configuration about groups of trajectories whose
order is known, once in one order and once in reverse, and reports:

  Kendall's τ     the mean over groups of τ-b between scores and labels
  best is best    how often the member with the highest score has the best label
  kept reversed   pairs that keep their order when members are shown in reverse
  first shown     pairs in which the member shown first wins; 50 % is unbiased

Each figure has a 95 % interval that counts all groups of one task as one
observation. A sentence says what to do. The label is a number in a column of
the data, or the score of a verifiable reward if you use --truth. Check ignores
the environment and the policy of the configuration.`,
		Example: "  merit judge check -c examples/judge/judge.yaml --data examples/judge/labelled.jsonl\n" +
			"  merit judge check -c judge.yaml --data answers.jsonl --truth reward.py --map group=question_id",
		RunE: o.run,
	}, o)
	console.SandboxFlags(cmd, &o.sandbox)
	return cmd
}

func (o *checkOptions) run(cmd *cobra.Command, _ []string) error {
	if o.Truth != "" && cmd.Flags().Changed("label") {
		return console.Usage(cmd, "give either --truth or --label", "--truth and --label both set the label")
	}
	columns, err := jsonl.ParseColumns(o.Columns)
	if err != nil {
		return console.Usage(cmd, "", "%v", err)
	}
	cfg, err := merit.LoadPartial(o.Config, o.Set...)
	if err != nil {
		return err
	}
	check := judgecheck.Options{
		Data: o.Data, Columns: columns, Label: o.Label, Getenv: o.host.Env, Log: o.host.Logger(), Stdin: o.host.Stdin, NotRead: o.host.Notes,
	}
	if o.Truth != "" {
		truth, err := rewardcmd.Name(o.Truth, "")
		if err != nil {
			return err
		}
		if check.Truth, err = rewardcmd.Load(cmd.Context(), o.host, o.sandbox, truth); err != nil {
			return err
		}
		defer check.Truth.Close()
	}
	progress := o.host.Progress("judge", "trajectories", -1)
	defer progress.Close()
	check.Progress = func(done int) { progress.Set(int64(done), "") }
	results, err := judgecheck.Run(cmd.Context(), cfg, check)
	progress.Close()
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(results)
	}
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(o.host.Stdout)
		}
		if err := o.print(r); err != nil {
			return err
		}
	}
	return nil
}

func (o *checkOptions) print(r judgecheck.Result) error {
	var t terminal.Table
	t.Add("judge", fmt.Sprintf("%s: %s, %s", r.Name, r.Model, r.Mode))
	t.Add("groups", fmt.Sprintf("%d of %d trajectories", r.Groups, r.Trajectories))
	if r.Unscored > 0 {
		t.Add("", fmt.Sprintf("%d without scores", r.Unscored))
	}
	if r.Alike > 0 {
		t.Add("", fmt.Sprintf("%d whose members all have the same label (not informative)", r.Alike))
	}
	if r.Tau != nil {
		t.Add("Kendall's τ", figure(r.Tau, "%.2f", 1)+" groups")
		t.Add("best is best", figure(r.Best, "%.0f %%", 100)+fmt.Sprintf(" groups, %.0f %% by chance", 100*r.Chance))
	}
	if r.Kept != nil {
		t.Add("kept reversed", figure(r.Kept, "%.0f %%", 100)+" pairs")
	}
	if r.First != nil {
		t.Add("first shown wins", figure(r.First, "%.0f %%", 100)+" pairs, 50 % is unbiased")
	}
	asked := r.Totals.Questions - r.Totals.Cached
	t.Add("asked", fmt.Sprintf("%d questions, %d of them twice; %d answers were cached", asked, r.Totals.Retried, r.Totals.Cached))
	t.Add("tokens", fmt.Sprintf("%d + %d", r.Totals.PromptTokens, r.Totals.CompletionTokens))
	if r.Totals.Cost > 0 {
		t.Add("cost", strconv.FormatFloat(r.Totals.Cost, 'g', 4, 64))
	}
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.host.Stdout, "%s: %s\n", r.Verdict, r.Sentence)
	return err
}

// figure formats an estimate with its interval and its number of observations.
func figure(e *agreement.Estimate, format string, times float64) string {
	number := func(x float64) string { return fmt.Sprintf(format, times*x) }
	return fmt.Sprintf("%s  [%s, %s] of %d", number(e.Value), number(e.Interval[0]), number(e.Interval[1]), e.N)
}
