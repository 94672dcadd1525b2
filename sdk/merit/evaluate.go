package merit

import (
	"context"
	"io"

	"github.com/merit-rl/merit/core/jsonl"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/scoring"
)

// EvaluateOptions say which file is scored and where the results go.
type EvaluateOptions struct {
	// Data is a file of trajectories, one JSON object with messages a line,
	// plain, .zst or .gz; "-" is Stdin.
	Data string
	// Out is where one result a line is written, in the order of the data; it
	// appears whole or not at all, compressed if it ends in .zst or .gz. "-" is
	// Stdout; empty writes none.
	Out string
	// Parallel is how many evaluations run at one time; 0 is one for each
	// processor. It changes no byte of the results.
	Parallel int

	Stdin  io.Reader
	Stdout io.Writer
}

// Evaluate scores every trajectory of a file, in bounded memory. Trajectories
// without a score are no error of Evaluate: see the Unscored of the summary.
func (r *Rewards) Evaluate(ctx context.Context, o EvaluateOptions) (*scoring.Summary, error) {
	in, err := jsonl.Open(o.Data, o.Stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	pass := scoring.Run{
		Pool: reward.NewPool(r.Parts, o.Parallel), Parallel: o.Parallel, Group: r.Group(), Log: r.options.log,
		Progress: func(done int) { r.options.progress.Collecting("eval", done, -1) },
	}
	if o.Out == "" {
		return pass.Do(ctx, in, nil)
	}
	out, err := jsonl.Create(o.Out, o.Stdout)
	if err != nil {
		return nil, err
	}
	defer out.Drop()
	summary, err := pass.Do(ctx, in, out)
	if err != nil {
		return nil, err
	}
	return summary, out.Close()
}
