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
	reward, with, query string
	parallel            int
	sandbox             sandbox.Config
}

// newScoreCmd is the verb traces score.
func newScoreCmd(p *place) *cobra.Command {
	o := &scoreOptions{place: p}
	cmd := &cobra.Command{
		Use:   "score [QUERY]",
		Short: "Score traces with a reward",
		Long: `Score evaluates the traces that a query chooses in the sandbox, as merit eval does
trajectories, and writes what came of it into the store as reward spans: one for
the trace, with its outcome, and its score if it is scored; and one for each span
that the reward gave a step output.

Scoring again with the same reward changes nothing, unless the trace has changed;
another reward, or another version of it, stands beside those before. What is
written is the same at any --parallel.

A reward finds the spans that are no calls of models in metadata as spans, the
names of the agents as agents, and what all calls cost as usage.

The exit code is 9 if any trace has no score.`,
		Example: "  merit traces score --reward examples/traces/voting/reward.py agent=council scored=false",
		RunE:    o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.reward, "reward", "", "the reward: a .wasm module, a .py or .js file, or the folder of a reward; of a script with several, file.py:function")
	rewardcmd.WithFlag(cmd, &o.with)
	f.StringVar(&o.query, "query", "", "the query, also as arguments")
	f.IntVar(&o.parallel, "parallel", 0, "evaluations at one time; 0 is one for each processor")
	console.SandboxFlags(cmd, &o.sandbox)
	console.Needs(cmd, "reward")
	return cmd
}

func (o *scoreOptions) run(cmd *cobra.Command, args []string) error {
	q, err := o.place.query(append(args, o.query))
	if err != nil {
		return err
	}
	named, err := rewardcmd.Name(o.reward, o.with)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	o.sandbox.Workers = o.parallel
	judges, err := rewardcmd.Load(ctx, o.host, o.sandbox, named)
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
		Query: q, Parallel: o.parallel, Now: o.host.Now().UTC(), Progress: func(done int) { progress.Set(int64(done), "") },
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
	t.Add("written", fmt.Sprintf("%d, %d had it already", s.Written, s.Same))
	return t.Write(o.host.Stdout)
}
