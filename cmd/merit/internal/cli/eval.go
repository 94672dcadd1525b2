package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/rewards"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/jsonl"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type evalOptions struct {
	host     *console.Host
	reward   string
	data     string
	out      string
	parallel int
	sandbox  sandbox.Config
}

func newEvalCmd(h *console.Host) *cobra.Command {
	o := &evalOptions{host: h}
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Score trajectories with a reward",
		Long: `Eval scores every trajectory of a file (one JSON object with messages a line,
plain, .zst or .gz; - is stdin) and writes one result a line, in input order:
id, outcome, score (null unless scored), step_outputs, metrics, reason, fuel.
The bytes are the same at any parallelism. The exit code is 9 if any trajectory
has no score; a module that is refused writes nothing.`,
		Example: "  merit eval --reward examples/gsm8k/reward.wasm --data trajectories.jsonl --out results.jsonl",
		Args:    console.NoArgs,
		RunE:    o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.reward, "reward", "", "the reward: a .wasm module, a .py file, or the folder of a reward")
	f.StringVar(&o.data, "data", "", "trajectories to score; - is stdin")
	f.StringVar(&o.out, "out", "", "where to write results, compressed if it ends in .zst or .gz; - is stdout; none if omitted")
	f.IntVar(&o.parallel, "parallel", 0, "evaluations at one time; 0 is one for each processor")
	console.SandboxFlags(cmd, &o.sandbox)
	return cmd
}

func (o *evalOptions) run(cmd *cobra.Command, _ []string) error {
	if err := console.Required(cmd, "reward", "data"); err != nil {
		return err
	}
	ctx := cmd.Context()
	o.sandbox.Workers = o.parallel
	judges, err := rewards.Load(ctx, o.host, o.sandbox, o.reward)
	if err != nil {
		return err
	}
	defer judges.Close()
	in, err := jsonl.Open(o.data, o.host.Stdin)
	if err != nil {
		return err
	}
	defer in.Close()
	summary, elapsed, err := o.score(ctx, judges, in)
	if err != nil {
		return err
	}
	if err := o.report(summary, judges.Parts[0].Scorer.Info(), elapsed); err != nil {
		return err
	}
	return unscored(summary)
}

// unscored is the error of a pass in which some trajectories have no score.
func unscored(s *scoring.Summary) error {
	err := s.Unscored()
	if f := fault.As(err); f != nil {
		f.Hint += "; merit reward run shows one in full"
	}
	return err
}

// score runs the pass; the results appear whole or not at all.
func (o *evalOptions) score(ctx context.Context, j *merit.Rewards, in *jsonl.Reader) (*scoring.Summary, time.Duration, error) {
	pass := scoring.Run{Pool: reward.NewPool(j.Parts, o.parallel), Parallel: o.parallel, Group: j.Group(), Log: o.host.Logger()}
	progress := o.host.Progress("eval", "evaluations", o.lines())
	defer progress.Close()
	pass.Progress = func(done int) { progress.Set(int64(done), "") }
	began := o.host.Now()
	if o.out == "" {
		summary, err := pass.Do(ctx, in, nil)
		return summary, o.host.Now().Sub(began), err
	}
	out, err := jsonl.Create(o.out, o.host.Stdout)
	if err != nil {
		return nil, 0, err
	}
	defer out.Drop()
	summary, err := pass.Do(ctx, in, out)
	if err != nil {
		return nil, 0, err
	}
	return summary, o.host.Now().Sub(began), out.Close()
}

// lines counts the lines of a small plain file, so that progress can say how
// much is left; -1 where counting would cost too much.
func (o *evalOptions) lines() int64 {
	const small = 256 << 20
	info, err := os.Stat(o.data)
	if err != nil || !info.Mode().IsRegular() || info.Size() > small {
		return -1
	}
	n, err := jsonl.Count(o.data)
	if err != nil {
		return -1
	}
	return int64(n)
}

// evalReport is the summary with what the wall clock decided.
type evalReport struct {
	*scoring.Summary
	Reward    reward.Info `json:"reward"`
	Seconds   float64     `json:"seconds"`
	PerSecond float64     `json:"evaluations_per_second"`
}

func (o *evalOptions) report(s *scoring.Summary, info reward.Info, elapsed time.Duration) error {
	r := evalReport{Summary: s, Reward: info, Seconds: elapsed.Seconds()}
	r.PerSecond = float64(s.Trajectories) / max(r.Seconds, 1e-9)
	w := io.Writer(o.host.Stdout)
	if o.out == "-" {
		w = o.host.Stderr
	} else if o.host.Global.JSON {
		return o.host.PrintJSON(r)
	}
	var t ui.Table
	t.Add("reward", info.Name+"  "+info.Digest)
	t.Add("trajectories", strconv.Itoa(s.Trajectories))
	for _, c := range s.Outcomes {
		t.Add(string(c.Outcome), fmt.Sprintf("%d  (%.1f %%)", c.N, 100*float64(c.N)/float64(s.Trajectories)))
	}
	if s.Mean != nil {
		t.Add("mean score", fmt.Sprintf("%.4f  (min %.4g, max %.4g)", *s.Mean, *s.Min, *s.Max))
	}
	if s.MaxFuel > 0 {
		t.Add("fuel", fmt.Sprintf("%.0f mean, %d most", s.MeanFuel, s.MaxFuel))
	}
	t.Add("evaluations/s", fmt.Sprintf("%.0f  (%.2f s)", r.PerSecond, r.Seconds))
	return t.Write(w)
}
