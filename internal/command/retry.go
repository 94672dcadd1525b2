package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/outcomes"
	"github.com/merit-rl/merit/sdk/merit"
)

// retry scores again what failed in an earlier evaluation, and keeps its other results.
type retry struct {
	causes  []outcomes.Cause
	file    string
	earlier []scoring.Result
	lines   [][]byte // of the earlier file, unchanged

	parts []reward.Weighted
	real  scoring.Evaluator
	at    int            // trajectories so far
	again []int          // the numbers of those that were scored again
	ended []reward.Count // how they ended
}

// newRetry reads the flags --retry and --results, and the earlier results.
func newRetry(cmd *cobra.Command, causes []string, file, out string) (*retry, error) {
	if causes == nil && file == "" {
		return nil, nil
	}
	r := &retry{file: file}
	switch {
	case causes == nil:
		return nil, console.Usage(cmd, "add --retry infrastructure", "--results names earlier results, and --retry does not say which of them to score again")
	case file == "":
		return nil, console.Usage(cmd, "name the earlier results: --results results.jsonl", "--retry needs the results of an earlier evaluation")
	case strings.HasSuffix(out, ".parquet") || strings.HasSuffix(file, ".parquet"):
		return nil, console.Usage(cmd, "use results in JSON Lines", "--retry keeps the lines of a file, and Parquet has none")
	}
	for _, c := range causes {
		if !slices.Contains([]outcomes.Cause{outcomes.Infrastructure, outcomes.Reward, outcomes.Limit, outcomes.Row}, outcomes.Cause(c)) {
			return nil, console.Usage(cmd, "use infrastructure, reward, limit or row", "--retry %q is not a cause of failures", c)
		}
		r.causes = append(r.causes, outcomes.Cause(c))
	}
	return r, r.read()
}

// read reads the earlier results.
func (r *retry) read() error {
	in, err := jsonl.Open(r.file, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		l, err := in.Line()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var x scoring.Result
		if err := strictjson.Unmarshal(l.Text, &x); err != nil || x.ID == "" || x.Outcome == "" {
			return &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: in.At(l.Number), What: "is not a result", Err: err,
				Hint: "name a results file that merit eval --out wrote",
			}
		}
		r.earlier, r.lines = append(r.earlier, x), append(r.lines, bytes.Clone(l.Text))
	}
}

// StepIndexing implements scoring.Evaluator.
func (r *retry) StepIndexing() reward.StepIndexing { return r.real.StepIndexing() }

// EvaluateAll implements scoring.Evaluator: it scores what failed, with everything that is scored
// together with it, and returns the earlier results of the rest.
func (r *retry) EvaluateAll(ctx context.Context, all []*rl.Trajectory, onResult func(i int, e reward.Evaluation)) ([]reward.Evaluation, error) {
	from := r.at
	r.at += len(all)
	if err := r.match(from, all); err != nil {
		return nil, err
	}
	again := r.choose(from, all)
	found := make([]reward.Evaluation, len(all))
	var some []*rl.Trajectory
	for i := range all {
		if slices.Contains(again, i) {
			some = append(some, all[i])
			continue
		}
		if found[i] = evaluationOf(r.earlier[from+i]); onResult != nil {
			onResult(i, found[i])
		}
	}
	scored, err := r.real.EvaluateAll(ctx, some, func(i int, e reward.Evaluation) {
		if onResult != nil {
			onResult(again[i], e)
		}
	})
	if err != nil {
		return nil, err
	}
	for k, i := range again {
		found[i] = scored[k]
		r.again = append(r.again, from+i)
	}
	return found, nil
}

// match requires that the trajectories are those of the earlier results.
func (r *retry) match(from int, all []*rl.Trajectory) error {
	for i, t := range all {
		what := ""
		switch {
		case from+i >= len(r.earlier):
			what = fmt.Sprintf("has %d results, and the data has more rows", len(r.earlier))
		case r.earlier[from+i].ID != t.ID:
			what = fmt.Sprintf("belongs to other data: result %d has the id %q, and row %d of the data has %q", from+i+1, r.earlier[from+i].ID, from+i+1, t.ID)
		default:
			continue
		}
		return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: r.file, What: what, Hint: "name the data that these results were computed from, with the same --map and --skip-bad"}
	}
	return nil
}

// choose returns the indices of the trajectories to score again.
func (r *retry) choose(from int, all []*rl.Trajectory) (again []int) {
	order, ends := reward.NewPool(r.parts, 1).Units(all)
	start := 0
	for _, end := range ends {
		unit := order[start:end]
		start = end
		if slices.ContainsFunc(unit, func(i int) bool { return r.failed(from + i) }) {
			again = append(again, unit...)
		}
	}
	slices.Sort(again)
	return again
}

// failed reports whether an earlier result failed for one of the causes.
func (r *retry) failed(i int) bool {
	return slices.Contains(r.causes, outcomes.Of(r.earlier[i].Outcome).Cause)
}

// evaluationOf returns the evaluation of a result.
func evaluationOf(x scoring.Result) reward.Evaluation {
	e := reward.Evaluation{Outcome: x.Outcome, Reason: x.Reason, Fuel: x.Fuel, Notes: x.Notes}
	if x.Score != nil {
		e.Result = rl.EvaluateResult{Score: *x.Score, Reason: x.Reason, Metrics: x.Metrics, StepOutputs: x.StepOutputs}
	}
	return e
}

// evaluate scores again and writes the results: the earlier lines, and the new ones in their
// places.
func (r *retry) evaluate(ctx context.Context, rewards *merit.Rewards, o merit.EvaluateOptions) (*scoring.Summary, error) {
	if r.parts, r.real = rewards.Parts, o.Evaluator; r.real == nil {
		r.real = reward.NewPool(rewards.Parts, o.Parallel)
	}
	results := make([]scoring.Result, 0, len(r.earlier))
	each, out := o.Each, o.Out
	o.Evaluator, o.Out = r, ""
	o.Each = func(line int, t *rl.Trajectory, x *scoring.Result) {
		results = append(results, *x)
		if each != nil {
			each(line, t, x)
		}
	}
	summary, err := rewards.Evaluate(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.at < len(r.earlier) {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: r.file, What: fmt.Sprintf("has %d results, and the data %d rows", len(r.earlier), r.at),
			Hint: "name the data that these results were computed from, with the same --map and --skip-bad",
		}
	}
	summary.Kept = len(results) - len(r.again)
	var again []reward.Evaluation
	for _, i := range r.again {
		again = append(again, reward.Evaluation{Outcome: results[i].Outcome})
	}
	r.ended = reward.Tally(again)
	return summary, r.write(out, o.Stdout, results)
}

func (r *retry) write(path string, stdout io.Writer, results []scoring.Result) error {
	if path == "" {
		return nil
	}
	for _, i := range r.again {
		line, err := json.Marshal(results[i])
		if err != nil {
			return err
		}
		r.lines[i] = line
	}
	out, err := jsonl.Create(path, stdout)
	if err != nil {
		return err
	}
	defer out.Drop()
	for _, line := range r.lines {
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Close()
}

// String says how many were scored again and how they ended.
func (r *retry) String() string {
	if len(r.again) == 0 {
		return "0: no result failed for this reason"
	}
	text := fmt.Sprintf("%d of %d", len(r.again), len(r.earlier))
	for i, c := range r.ended {
		text += fmt.Sprintf("%s %s %d", []string{":", ","}[min(i, 1)], c.Outcome, c.N)
	}
	return text
}
