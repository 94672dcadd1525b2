// Package scoring runs a reward over a file of trajectories of any length: it
// reads in chunks, scores each chunk with core/reward's pool and writes one
// result a line in input order, so memory is bounded and the bytes are the
// same at any parallelism.
package scoring

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/jsonl"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Result is what one line of results says about one trajectory. It holds
// nothing that the wall clock decides.
type Result struct {
	ID          string          `json:"id"`
	Outcome     reward.Outcome  `json:"outcome"`
	Score       *float64        `json:"score"` // null unless scored
	StepOutputs []rl.StepOutput `json:"step_outputs"`
	Metrics     rl.Metrics      `json:"metrics"`
	Reason      string          `json:"reason"`
	Fuel        uint64          `json:"fuel"`
}

// NewResult says what e means for t.
func NewResult(t *rl.Trajectory, e reward.Evaluation) Result {
	r := Result{ID: t.ID, Outcome: e.Outcome, StepOutputs: []rl.StepOutput{}, Reason: e.Reason, Fuel: e.Fuel}
	if e.Outcome == reward.Scored {
		r.Score, r.Reason = &e.Result.Score, e.Result.Reason
		r.Metrics = e.Result.Metrics
		r.StepOutputs = append(r.StepOutputs, e.Result.StepOutputs...)
	}
	if said, _, _ := strings.Cut(e.Log, "\n"); e.Outcome == reward.Trap && said != "" {
		r.Reason += ": " + said // a panic's own words
	}
	return r
}

// Run is one pass over a file.
type Run struct {
	Pool     *reward.Pool
	Parallel int  // goroutines that decode and encode; 0 is one for each processor
	Group    bool // the reward compares the members of a group
	Log      *slog.Logger
	// Progress, if set, is told how many trajectories are done.
	Progress func(done int)
}

// Do scores every trajectory of in and writes results to out, which may be
// nil. The error is of the data, of ctx or of out; evaluations without a score
// are counted in the summary.
func (r *Run) Do(ctx context.Context, in *jsonl.Reader, out io.Writer) (*Summary, error) {
	summary := newSummary()
	reader := &chunks{in: in, parallel: r.Parallel, group: r.Group, seen: map[string]bool{}}
	for {
		chunk, err := reader.next()
		if err != nil {
			return nil, err
		}
		if len(chunk) == 0 {
			break
		}
		if err := r.chunk(ctx, chunk, out, summary); err != nil {
			return nil, err
		}
	}
	if summary.Trajectories == 0 {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: in.Name(), What: "there are no trajectories", Hint: "give one JSON object with messages a line"}
	}
	return summary, nil
}

func (r *Run) chunk(ctx context.Context, chunk []*rl.Trajectory, out io.Writer, summary *Summary) error {
	before := summary.Trajectories
	evaluations, err := r.Pool.EvaluateAll(ctx, chunk, func(done int) {
		if r.Progress != nil {
			r.Progress(before + done)
		}
	})
	if err != nil {
		return err
	}
	lines := make([][]byte, len(chunk))
	err = each(len(chunk), r.Parallel, func(i int) (err error) {
		evaluations[i] = align.Check(chunk[i], evaluations[i], r.Pool.StepIndexing())
		if out != nil {
			lines[i], err = json.Marshal(NewResult(chunk[i], evaluations[i]))
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, t := range chunk {
		e := evaluations[i]
		summary.add(t.ID, e)
		if r.Log.Enabled(ctx, slog.LevelDebug) {
			r.Log.Debug("evaluated", "trajectory", t.ID, "outcome", e.Outcome, "score", e.Result.Score, "reason", e.Reason, "fuel", e.Fuel, "elapsed", e.Elapsed, "log", e.Log)
		}
		if out == nil {
			continue
		}
		if _, err := out.Write(append(lines[i], '\n')); err != nil {
			return err
		}
	}
	return nil
}
