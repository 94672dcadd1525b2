// Package scoring runs a reward over a file of trajectories of any length. It
// reads the file in chunks, scores each chunk with the pool of core/reward and
// writes one result per line in input order. So memory is bounded, and the
// output is the same whatever the parallelism. A pass that was stopped can be
// resumed, and its output is the same as that of an uninterrupted pass.
package scoring

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Evaluator scores trajectories that are not in groups. A *reward.Pool does so
// in this process.
type Evaluator interface {
	// EvaluateAll is like that of reward.Pool: it returns the evaluations in
	// the order of the trajectories, and passes each to onResult as soon as it
	// is available. The error is ctx's. The members of a group are scored
	// together if the reward compares them.
	EvaluateAll(ctx context.Context, trajectories []*rl.Trajectory, onResult func(i int, e reward.Evaluation)) ([]reward.Evaluation, error)
	// StepIndexing is the rule for the step outputs of the evaluations.
	StepIndexing() reward.StepIndexing
}

// Run is one pass over a file.
type Run struct {
	Pool     Evaluator
	Parallel int  // goroutines that decode; 0 = one per CPU
	Chunk    int  // trajectories in memory; 0 = ChunkTrajectories
	Group    bool // the reward compares the members of a group
	Batch    int  // how many consecutive trajectories are scored together; 0 = one
	// SkipBad omits lines that cannot be used and lists them in the summary. A
	// group reward then compares the remaining members.
	SkipBad     bool
	GroundTruth reward.Use   // whether the reward reads it
	Log         *slog.Logger // nil = no log
	// Progress, if set, receives the number of finished trajectories and an
	// estimate of their total; -1 if it is unknown.
	Progress func(done, total int)
	// Warn, if set, is called once if the reward reads a ground truth that the
	// file does not have.
	Warn func(error)
	// Doubts, if set, receives every evaluation; its warnings are in the
	// summary.
	Doubts *Doubts
	// Deciders are the rewards that are asked one after the other, by the metric
	// whose score is the position of the one that gave the score.
	Deciders map[string][]string
	// Each, if set, receives every trajectory with its line in the file and its
	// result, in the order of the file.
	Each func(line int, t *rl.Trajectory, result *Result)
}

// Do scores every trajectory of in and writes the results to out, which may be
// nil. The error comes from the data, from ctx or from out. The summary counts
// evaluations without a score.
func (r *Run) Do(ctx context.Context, in *jsonl.Reader, out io.Writer) (*Summary, error) {
	return r.pass(ctx, in, stream{out})
}

// results receives the results of a pass in input order.
type results interface {
	// kept returns the results of an earlier pass for the first trajectories of
	// chunk. If that pass stopped within chunk, whole limits their number, so
	// that trajectories that are scored together stay together.
	kept(chunk []item, whole func(chunk []item, first int) int) ([][]byte, error)
	// add adds the result of the next trajectory, without a line break.
	add(x item, result []byte) error
}

// stream passes results straight to a writer.
type stream struct{ io.Writer }

func (stream) kept([]item, func([]item, int) int) ([][]byte, error) { return nil, nil }

func (s stream) add(_ item, result []byte) error {
	if s.Writer == nil {
		return nil
	}
	_, err := s.Write(append(result, '\n'))
	return err
}

func (r *Run) pass(ctx context.Context, in *jsonl.Reader, out results) (*Summary, error) {
	if err := in.Fit(); err != nil {
		return nil, err
	}
	summary := newSummary()
	summary.deciders = r.Deciders
	reader := &chunks{bad: jsonl.Bad{Unit: in.Unit()}, in: in, parallel: r.Parallel, most: cmp.Or(r.Chunk, ChunkTrajectories), group: r.Group, batch: r.Batch, skipBad: r.SkipBad, seen: map[string]bool{}}
	for {
		chunk, err := reader.next(ctx)
		if err != nil {
			return nil, err
		}
		if len(chunk) == 0 {
			break
		}
		if summary.Trajectories == 0 && r.Warn != nil {
			if warning := reader.truth.warning(r.GroundTruth, in, reader.ended); warning != nil {
				r.Warn(warning)
			}
		}
		if summary.Trajectories == 0 && r.Doubts != nil {
			if err := r.Doubts.Lacking(trajectories(chunk)); err != nil {
				return nil, err
			}
		}
		if err := r.chunk(ctx, chunk, int(in.Estimate()), out, summary); err != nil {
			return nil, err
		}
	}
	if r.Doubts != nil {
		summary.Warnings = r.Doubts.Warnings()
	}
	summary.Skipped, summary.WithoutGroundTruth = reader.bad, reader.truth.without
	summary.Skipped.First = append([]jsonl.BadLine{}, reader.bad.First...) // an empty list in JSON, not null
	if summary.Trajectories == 0 {
		none := &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: in.Name(), What: "there are no trajectories", Hint: "give one JSON object with messages per line"}
		return nil, errors.Join(reader.bad.Err(in.Name()), none)
	}
	return summary, nil
}

// whole returns how many of the first trajectories of a chunk can be kept
// without dividing trajectories that are scored together.
func (r *Run) whole(chunk []item, first int) int {
	switch {
	case r.Batch > 0 && first < len(chunk):
		return first - first%r.Batch
	case r.Group:
		return wholeGroups(chunk, first)
	}
	return first
}

// chunk takes the results of the earlier pass and scores the rest.
func (r *Run) chunk(ctx context.Context, chunk []item, total int, out results, summary *Summary) error {
	kept, err := out.kept(chunk, r.whole)
	if err != nil {
		return err
	}
	for i, text := range kept {
		var result Result
		if err := strictjson.Unmarshal(text, &result); err != nil {
			return fmt.Errorf("the stored result of %s: %w", chunk[i].ID, err)
		}
		summary.add(result)
		summary.Kept++
		r.each(chunk[i], &result)
	}
	rest := chunk[len(kept):]
	if len(rest) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := &order{run: r, out: out, summary: summary, items: rest, from: summary.Trajectories, ready: make([]scored, len(rest)), finished: summary.Trajectories, total: total}
	_, err = r.Pool.EvaluateAll(ctx, trajectories(rest), func(i int, e reward.Evaluation) {
		if err := o.take(ctx, i, e); err != nil {
			cancel(err)
		}
	})
	return err
}

func (r *Run) each(x item, result *Result) {
	if r.Each != nil {
		r.Each(x.line, x.Trajectory, result)
	}
}

func trajectories(items []item) []*rl.Trajectory {
	all := make([]*rl.Trajectory, len(items))
	for i, x := range items {
		all[i] = x.Trajectory
	}
	return all
}

// order puts the results of a chunk, which arrive in any order, into the order
// of the file.
type order struct {
	run     *Run
	out     results
	summary *Summary
	items   []item
	from    int // number of the first item in the file

	mu       sync.Mutex
	ready    []scored // results that arrived before their turn
	next     int      // index of the first result that has not been written
	finished int      // trajectories, in any order
	total    int      // of the file, as far as is known
	failed   error    // the error of a write, after which nothing is written
}

type scored struct {
	result Result
	text   []byte // nil until there is a result
}

// take writes result i and the later results that waited for it, or stores it
// for later.
func (o *order) take(ctx context.Context, i int, e reward.Evaluation) error {
	x := o.items[i]
	e = align.Check(x.Trajectory, e, o.run.Pool.StepIndexing())
	result := NewResult(x.Trajectory, e)
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if log := o.run.Log; log != nil && log.Enabled(ctx, slog.LevelDebug) {
		log.Debug("evaluated", "trajectory", x.ID, "outcome", e.Outcome, "score", e.Result.Score, "reason", e.Reason, "fuel", e.Fuel, "elapsed", e.Elapsed, "log", e.Log)
	}
	if o.run.Doubts != nil {
		o.run.Doubts.Note(o.from+i, x.Trajectory, &result)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished++; o.run.Progress != nil {
		o.run.Progress(o.finished, o.total)
	}
	o.ready[i] = scored{result, text}
	if o.failed != nil {
		return o.failed
	}
	for ; o.next < len(o.ready) && o.ready[o.next].text != nil; o.next++ {
		now := &o.ready[o.next]
		if o.failed = o.out.add(o.items[o.next], now.text); o.failed != nil {
			return o.failed
		}
		o.summary.add(now.result)
		o.run.each(o.items[o.next], &now.result)
		*now = scored{}
	}
	return nil
}
