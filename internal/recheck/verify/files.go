package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/explain"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

const ending = ".jsonl.zst"

// files checks all files of the run. Trajectories come first, because their differences are
// more specific than a checksum.
func (v *verification) files(ctx context.Context) error {
	digests := map[string]string{}
	switch s, err := run.ReadSummary(v.dir); {
	case err == nil:
		digests, v.finished = s.Digests, true
		v.won = s.Trained.Wins != nil
	case !errors.Is(err, fault.Of(fault.Storage, fault.Missing)): // a run that is not finished has no summary
		v.find(run.SummaryFile, recompute.Difference{Field: "file", Stored: err.Error(), Computed: "a summary"})
	}
	train := v.recipe
	train.Advantage = &v.cfg.Advantage
	if err := v.trajectories(ctx, train, run.TrainTrajectories, v.frames); err != nil {
		return err
	}
	inside, err := os.ReadDir(filepath.Join(v.dir, run.Trajectories))
	if err != nil {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, What: "cannot be read", Err: err, Hint: "name a run directory"}
	}
	alone := v.recipe
	alone.Members = 1
	var both recompute.Tally
	if v.recipe.Compares {
		alone.Members = v.cfg.Rollout.Members + 1 // a file has half of a group, whose stored results are used
	}
	if v.recipe.Compares || v.won {
		if both, err = v.versus(ctx, v.recipe); err != nil {
			return err
		}
	}
	for _, f := range inside {
		name, ok := strings.CutSuffix(f.Name(), ending)
		if !ok || f.Name() == run.TrainTrajectories {
			continue
		}
		sum := func(file string) (string, error) { return v.whole(file, digests[name]) }
		if err := v.trajectories(ctx, alone, f.Name(), sum); err != nil {
			return err
		}
		switch last := &v.report.Files[len(v.report.Files)-1]; {
		case f.Name() != testTrained:
		case v.recipe.Compares:
			last.Tally = both
		default:
			last.Differ = max(last.Differ, both.Differ)
		}
	}
	return v.checkpoints()
}

// trajectories recomputes the trajectories of a file, group by group, and checks its
// checksums.
func (v *verification) trajectories(ctx context.Context, recipe recompute.Recipe, name string, sums func(file string) (string, error)) (err error) {
	f := File{Name: path.Join(run.Trajectories, name)}
	at := filepath.Join(v.dir, run.Trajectories, name)
	if info, err := os.Stat(at); err == nil && info.Size() > 0 {
		if err := v.groups(ctx, recipe, at, &f); err != nil {
			return err
		}
	}
	f.Checked, err = sums(f.Name)
	v.report.Files = append(v.report.Files, f)
	return err
}

// atOnce is how many groups are read before they are computed.
const atOnce = 64

func (v *verification) groups(ctx context.Context, recipe recompute.Recipe, path string, f *File) error {
	var chunk [][]*rl.Trajectory
	var damage error
	for t, err := range jsonl.Trajectories(path) {
		if err != nil {
			if fail := fault.As(err); fail == nil || fail.Boundary != fault.Data {
				return err
			}
			damage = err
			break
		}
		if n := len(chunk); n > 0 && chunk[n-1][0].Group == t.Group {
			chunk[n-1] = append(chunk[n-1], t)
			continue
		}
		if len(chunk) == atOnce {
			if err := v.compute(ctx, recipe, chunk, f); err != nil {
				return err
			}
			chunk = chunk[:0]
		}
		chunk = append(chunk, []*rl.Trajectory{t})
	}
	if err := v.compute(ctx, recipe, chunk, f); err != nil || damage == nil {
		return err
	}
	v.find(f.Name, recompute.Difference{Field: "file", Stored: damage.Error(), Computed: "trajectories"})
	return nil
}

// compute recomputes groups concurrently and reports them in order.
func (v *verification) compute(ctx context.Context, recipe recompute.Recipe, chunk [][]*rl.Trajectory, f *File) error {
	tallies := make([]recompute.Tally, len(chunk))
	found := make([][]recompute.Difference, len(chunk))
	var all errgroup.Group
	all.SetLimit(v.parallel())
	for i, members := range chunk {
		all.Go(func() (err error) {
			tallies[i], found[i], err = recipe.Group(ctx, members, explain.Moments(v.metrics, explain.IterationOf(members[0].ID)))
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for i := range chunk {
		f.Add(tallies[i])
		for _, d := range found[i] {
			v.find(f.Name, d)
		}
	}
	return nil
}

func (v *verification) parallel() int {
	if v.o.Parallel > 0 {
		return v.o.Parallel
	}
	return cpus.Count()
}

// read opens a file of the run.
func (v *verification) read(file string) (*os.File, error) {
	f, err := os.Open(filepath.Join(v.dir, filepath.FromSlash(file)))
	if err != nil {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, What: "cannot be read", Err: err, Hint: "restore the file from a copy"}
	}
	return f, err
}

// frames checks each iteration's part of the training episodes, and that a finished run has no
// others.
func (v *verification) frames(file string) (checked string, err error) {
	f, err := v.read(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for _, it := range v.metrics {
		if it.Saved == nil {
			continue
		}
		checked = "sha256"
		h := sha256.New()
		_, err := io.CopyN(h, f, int64(it.Saved.Bytes))
		computed := fmt.Sprintf("sha256:%x", h.Sum(nil))
		if err != nil {
			computed = "the end of the file"
		}
		if computed != it.Saved.Digest {
			v.find(file, recompute.Difference{Field: fmt.Sprintf("episodes of iteration %d", it.Iteration), Stored: it.Saved.Digest + " in " + run.MetricsFile, Computed: computed})
			return checked, nil // the rest may merely have moved
		}
	}
	if v.finished && checked != "" { // a stopped run may have more, which a resume truncates
		if more, _ := io.Copy(io.Discard, f); more > 0 {
			v.find(file, recompute.Difference{Field: "bytes after the last iteration", Stored: fmt.Sprint(more), Computed: "0 by " + run.MetricsFile})
		}
	}
	return checked, nil
}

// whole compares a file with the digest that the run stores for it, if any.
func (v *verification) whole(file, digest string) (checked string, err error) {
	if digest == "" {
		return "", nil
	}
	f, err := v.read(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: file, What: "cannot be read", Err: err, Hint: "restore the file from a copy"}
	}
	if computed := fmt.Sprintf("sha256:%x", h.Sum(nil)); computed != digest {
		v.find(file, recompute.Difference{Field: "file", Stored: digest + " in " + run.SummaryFile, Computed: computed})
	}
	return "sha256", nil
}

// checkpoints checks the checksums in the checkpoints, and that the run has everything that
// the last one counts.
func (v *verification) checkpoints() error {
	names := []string{run.Initial, run.Best, run.Last}
	kept, err := run.Kept(v.dir)
	if err != nil {
		return err
	}
	for _, n := range kept {
		names = append(names, run.AtIteration(n))
	}
	for _, name := range names {
		file := path.Join(run.Checkpoints, name)
		c, err := run.ReadCheckpoint(v.dir, name)
		switch {
		case errors.Is(err, fault.Of(fault.Storage, fault.Missing)):
			continue // it started untrained, or stopped before its first checkpoint
		case errors.Is(err, fault.Of(fault.Storage, fault.Corrupt)):
			v.find(file, recompute.Difference{Field: "file", Stored: err.Error(), Computed: "a checkpoint"})
		case err != nil:
			return err
		case name != run.Initial: // that counts another run
			v.counts(file, c.Cursor)
		}
		v.report.Files = append(v.report.Files, File{Name: file, Checked: "sha256"})
	}
	return nil
}

// counts compares the metrics with what a checkpoint records of the run up to there.
func (v *verification) counts(file string, c run.Cursor) {
	differs := func(field string, stored, computed any) {
		if stored != computed {
			v.find(file, recompute.Difference{Field: field, Stored: fmt.Sprint(stored), Computed: fmt.Sprint(computed) + " in " + run.MetricsFile})
		}
	}
	if c.MetricLines < 0 || len(v.metrics) < c.MetricLines {
		differs("metric_lines", c.MetricLines, len(v.metrics))
		return
	}
	counted := v.metrics[:c.MetricLines]
	if n := len(counted); n > 0 {
		differs("env_steps", c.EnvSteps, counted[n-1].EnvSteps)
		differs("episodes", c.Episodes, counted[n-1].Episodes)
	}
	for _, it := range counted {
		if it.Validation != nil && it.Iteration == c.Best.Iteration {
			differs("best.success", c.Best.Success, it.Validation.Success)
			differs("best.return", c.Best.Return, it.Validation.Return)
		}
	}
}
