package merit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/sandbox"
)

// EvaluateOptions configure which file Evaluate scores and where it writes the
// results.
type EvaluateOptions struct {
	// Data is a file of trajectories: JSON Lines with messages, or the rows of
	// Parquet, CSV or TSV. All but Parquet may be compressed (.zst or .gz). "-"
	// is Stdin.
	Data string
	// Out is the file to write one result per line to, in the order of the
	// data. Either the complete file appears or none. It is compressed if its
	// name ends in .zst or .gz, and Parquet if it ends in .parquet. "-" is
	// Stdout; if empty, no results are written.
	Out string
	// Parallel is how many evaluations run at once; 0 = one per CPU. It does
	// not change the results.
	Parallel int

	// Columns map fields of trajectories to columns of the data with other
	// names.
	Columns []jsonl.Column
	// SkipBad omits lines that cannot be used; the summary lists them.
	SkipBad bool
	// Resume continues an earlier Evaluate of the same data, rewards and limits
	// that returned a *scoring.Unfinished. Without one, Evaluate starts over.
	Resume bool
	// Warn is called once if the reward reads a ground truth that the data does
	// not have, and at the end for each kind of thing that a file of another tool
	// says and trajectories cannot hold; if nil, the warning is logged.
	Warn func(error)
	// Each, if set, is called with every trajectory, its line in the data and its
	// result, one after the other in the order of the data.
	Each func(line int, t *rl.Trajectory, result *scoring.Result)

	// Evaluator, if set, scores instead of this process, for example a fleet
	// that has loaded these rewards. Chunk is how many trajectories it receives
	// at once; 0 = scoring.ChunkTrajectories.
	Evaluator scoring.Evaluator
	Chunk     int

	Stdin  io.Reader // os.Stdin if nil
	Stdout io.Writer // os.Stdout if nil
}

// Evaluate scores every trajectory of a file, in bounded memory. A trajectory
// without a score is not an error of Evaluate: see the Unscored of the summary.
// If Evaluate stops with results that a later call can resume, the error is a
// *scoring.Unfinished.
func (r *Rewards) Evaluate(ctx context.Context, o EvaluateOptions) (*scoring.Summary, error) {
	if o.Resume && (o.Out == "" || o.Out == "-") {
		return nil, misuse("only results that are written to a file can be resumed", "name a file in EvaluateOptions.Out")
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	in, err := jsonl.Open(o.Data, o.Stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	in.Map(o.Columns)
	pass := r.pass(o)
	defer func() {
		for _, line := range in.Notes() {
			pass.Warn(errors.New("not read: " + line))
		}
	}()
	switch o.Out {
	case "":
		return pass.Do(ctx, in, nil)
	case "-":
		out, err := jsonl.Create(o.Out, o.Stdout)
		if err != nil {
			return nil, err
		}
		summary, err := pass.Do(ctx, in, out)
		return summary, errors.Join(err, out.Close())
	}
	return pass.DoFile(ctx, in, scoring.Target{Path: o.Out, Settings: r.settings(o), Resume: o.Resume})
}

func (r *Rewards) pass(o EvaluateOptions) *scoring.Run {
	warn := o.Warn
	if warn == nil {
		warn = func(err error) { r.options.log.Warn(err.Error()) }
	}
	group, batch := reward.Units(r.Parts)
	doubts := scoring.NewDoubts(reward.NewPool(r.Parts, 1))
	doubts.LeastConstant = 2 // for a whole data set
	if o.Evaluator == nil {
		o.Evaluator = reward.NewPool(r.Parts, o.Parallel)
	}
	return &scoring.Run{
		Pool: o.Evaluator, Parallel: o.Parallel, Chunk: o.Chunk, Group: group, Batch: batch, Doubts: doubts, SkipBad: o.SkipBad, GroundTruth: r.groundTruth(),
		Log: r.options.log, Warn: warn, Each: o.Each, Deciders: deciders(r.Parts),
		Progress: func(done, total int) { r.options.progress.Collecting("eval", done, total) },
	}
}

// groundTruth returns whether any reward reads the ground truth.
func (r *Rewards) groundTruth() reward.Use {
	use := reward.UseIgnored
	var all []reward.Weighted
	for _, p := range r.Parts {
		all = append(all, members(p)...)
	}
	for _, p := range all {
		switch info := p.Scorer.Info(); {
		case info.GroundTruth == reward.UseRead:
			return reward.UseRead
		case info.GroundTruth == reward.UseUnknown && !namesColumns(info):
			use = reward.UseUnknown
		}
	}
	return use
}

// namesColumns reports whether a function has parameters for the columns that
// it reads, so that Merit need not guess them from its keyword arguments.
func namesColumns(info reward.Info) bool { return info.Entry != nil && len(info.Entry.Asks) > 0 }

// settings lists everything that determines the bytes of results, apart from
// the data.
func (r *Rewards) settings(o EvaluateOptions) []scoring.Setting {
	version := ReadVersion()
	list := []scoring.Setting{{Name: "merit", Value: strings.TrimSpace(version.Version + " " + version.Revision)}}
	add := func(name string, value any) {
		list = append(list, scoring.Setting{Name: name, Value: fmt.Sprint(value)})
	}
	for i, p := range r.Parts {
		info := p.Scorer.Info()
		add(fmt.Sprintf("reward %d", i+1), fmt.Sprintf("%s %s, weight %v", cmp.Or(p.Name, info.Name), info.Digest, p.Weight))
	}
	limits := reflect.ValueOf(r.sandbox.Limits)
	for f := range limits.Type().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		add("sandbox."+name, limits.FieldByIndex(f.Index))
	}
	if r.sandbox.Isolation == sandbox.Shared { // the other modes give the same bytes
		add("sandbox.isolation", r.sandbox.Isolation)
	}
	for _, c := range o.Columns {
		add("map "+c.Name, c.From)
	}
	return list
}
