package tracescmd

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/traces"
	"github.com/merit-rl/merit/sandbox"
)

type scoreOptions struct {
	*place
	rewardcmd.Parameters
	Reward   string `flag:"reward" usage:"the reward: a .wasm module, a .py or .js file, or the folder of a reward; for one of several functions in a script, file.py:function" needed:"yes"`
	Query    string `flag:"query" usage:"the query; you can also pass it as arguments"`
	Parallel int    `flag:"parallel" usage:"number of concurrent evaluations; 0 means one per CPU"`
	Sandbox  sandbox.Config
}

// newScoreCmd returns merit traces score.
func newScoreCmd(p *place) *cobra.Command {
	o := &scoreOptions{place: p}
	return console.Verb(&cobra.Command{
		Use:   "score [QUERY]",
		Short: "Score traces with a reward",
		Long: `Score evaluates the traces that match a query in the sandbox, as merit eval does with
trajectories. It writes the results into the store as reward spans: one for the trace, with
its outcome and, if scored, its score; and one for each span for which the reward returned
a step output.

Scoring again with the same reward changes nothing, unless the trace has changed. Results
of another reward, or another version, are stored in addition. The results do not depend on
--parallel.

A reward finds the spans that are not model calls in metadata as spans, the names of the
agents as agents, and the total cost of all calls as usage.

The exit code is 9 if a trace has no score.`,
		Example: "  merit traces score --reward examples/traces/voting/reward.py agent=council scored=false",
		Args:    cobra.ArbitraryArgs,
		RunE:    o.run,
	}, o)
}

func (o *scoreOptions) run(cmd *cobra.Command, args []string) error {
	q, err := o.place.query(append(args, o.Query))
	if err != nil {
		return err
	}
	named, err := rewardcmd.Name(o.Reward, o.With)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	o.Sandbox.Workers = o.Parallel
	judges, err := rewardcmd.Load(ctx, o.host, o.Sandbox, named)
	if err != nil {
		return err
	}
	defer judges.Close()
	s, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	progress := o.host.Progress("score", "traces", -1)
	defer progress.Close()
	scored, err := traces.Score(ctx, s, judges.Parts, traces.ScoreOptions{
		Query: q, Parallel: o.Parallel, Now: o.host.Now().UTC(), Progress: func(done int) { progress.Set(int64(done), "") },
	})
	if err != nil {
		return err
	}
	progress.Close()
	if err := o.report(scored, judges.Parts[0].Scorer.Info()); err != nil {
		return err
	}
	return scored.Unscored()
}

func (o *scoreOptions) report(s *traces.Scored, info reward.Info) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			*traces.Scored
			Reward reward.Info `json:"reward"`
		}{s, info})
	}
	var t terminal.Table
	t.Add("reward", info.Name+"  "+info.Digest)
	t.Add("traces", strconv.Itoa(s.Trajectories))
	for _, c := range s.Outcomes {
		t.Add(string(c.Outcome), fmt.Sprintf("%d  (%.1f %%)", c.N, 100*float64(c.N)/float64(s.Trajectories)))
	}
	if s.Mean != nil {
		t.Add("mean score", fmt.Sprintf("%.4f  (min %.4g, max %.4g)", *s.Mean, *s.Min, *s.Max))
	}
	if s.WithoutGroundTruth > 0 {
		t.Add("without ground truth", strconv.Itoa(s.WithoutGroundTruth))
	}
	t.Add("written", fmt.Sprintf("%d, %d unchanged", s.Written, s.Same))
	return t.Write(o.host.Stdout)
}
