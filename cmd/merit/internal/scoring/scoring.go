// Package scoring runs a reward over a file of trajectories of any length: it
// reads in chunks, scores each chunk with core/reward's pool and writes one
// result a line in input order, so memory is bounded and the bytes are the
// same at any parallelism. It imports core and package jsonl.
package scoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/merit-rl/merit/cmd/merit/internal/jsonl"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// ChunkTrajectories and ChunkBytes bound how much of the file is in memory; a
// group that a group reward compares is never divided and may exceed them.
const (
	ChunkTrajectories = 1024
	ChunkBytes        = 32 << 20
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
	return r
}

// Run is one pass over a file.
type Run struct {
	Pool  *reward.Pool
	Group bool // the reward compares the members of a group
	Log   *slog.Logger
	// Progress, if set, is told how many trajectories are done.
	Progress func(done int)
}

// Do scores every trajectory of in and writes results to out, which may be
// nil. The error is of the data, of ctx or of out; evaluations without a score
// are counted in the summary.
func (r *Run) Do(ctx context.Context, in *jsonl.Reader, out io.Writer) (*Summary, error) {
	summary := newSummary()
	reader := &chunks{in: in, group: r.Group, seen: map[string]bool{}}
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
	for i, t := range chunk {
		e := align.Check(t, evaluations[i], r.Pool.StepIndexing())
		summary.add(t.ID, e)
		if r.Log.Enabled(ctx, slog.LevelDebug) {
			r.Log.Debug("evaluated", "trajectory", t.ID, "outcome", e.Outcome, "score", e.Result.Score, "reason", e.Reason, "fuel", e.Fuel, "elapsed", e.Elapsed, "log", e.Log)
		}
		if out == nil {
			continue
		}
		line, err := json.Marshal(NewResult(t, e))
		if err != nil {
			return fmt.Errorf("result of %s: %w", t.ID, err)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// chunks cuts a file into pieces that fit into memory.
type chunks struct {
	in    *jsonl.Reader
	group bool
	ahead *rl.Trajectory  // read, but part of the next chunk
	seen  map[string]bool // groups of earlier chunks
}

// next returns the next trajectories, none at the end.
func (c *chunks) next() ([]*rl.Trajectory, error) {
	var chunk []*rl.Trajectory
	start := c.in.Bytes()
	for {
		t := c.ahead
		c.ahead = nil
		if t == nil {
			var err error
			if t, err = Read(c.in); errors.Is(err, io.EOF) {
				return chunk, nil
			} else if err != nil {
				return nil, err
			}
		}
		full := len(chunk) >= ChunkTrajectories || c.in.Bytes()-start > ChunkBytes
		if full && len(chunk) > 0 && !c.sameGroup(chunk[len(chunk)-1], t) {
			c.ahead = t
			c.remember(chunk)
			return chunk, nil
		}
		if c.group && c.seen[t.Group] {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: c.in.Where(),
				What: fmt.Sprintf("group %q comes again far from its other members", t.Group),
				Hint: "this reward compares the members of a group: sort the file by group",
			}
		}
		chunk = append(chunk, t)
	}
}

// Read reads the next trajectory of in: one that has messages, and an id if
// only its line number. At the end it returns io.EOF.
func Read(in *jsonl.Reader) (*rl.Trajectory, error) {
	t := new(rl.Trajectory)
	if err := in.Next(t); err != nil {
		return nil, err
	}
	if len(t.Messages) == 0 && t.StopReason != rl.StopError {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: in.Where(), What: "the trajectory has no messages",
			Hint: `each line needs "messages": [{"role": …, "content": …}, …]`,
		}
	}
	if t.ID == "" {
		t.ID = "line-" + strconv.Itoa(in.Line())
	}
	return t, nil
}

func (c *chunks) sameGroup(a, b *rl.Trajectory) bool {
	return c.group && a.Group != "" && a.Group == b.Group
}

func (c *chunks) remember(chunk []*rl.Trajectory) {
	if !c.group {
		return
	}
	for _, t := range chunk {
		if t.Group != "" {
			c.seen[t.Group] = true
		}
	}
}
