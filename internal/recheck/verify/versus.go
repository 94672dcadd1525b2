package verify

import (
	"context"
	"errors"
	"iter"
	"os"
	"path"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

// The tests of a run. If a reward compares, the episodes of both with equal group names were
// scored as one group, the trained policy's first.
const testTrained, testBaseline = "test-trained" + ending, "test-baseline" + ending

// versus recomputes both tests together, if the run has them: the results of rewards that can
// be run again, and from the scores which episodes of the trained policy won. It leaves the files' checksums
// to the caller.
func (v *verification) versus(ctx context.Context, recipe recompute.Recipe) (tally recompute.Tally, err error) {
	plan := train.PlanVersus(v.cfg.Rollout.Members, 0)
	half := plan.Members
	recipe.Members, recipe.Won = 2*half, plan.Count
	for _, name := range []string{testTrained, testBaseline} {
		if info, err := os.Stat(filepath.Join(v.dir, run.Trajectories, name)); err != nil || info.Size() == 0 {
			return tally, nil
		}
	}
	f := File{Name: path.Join(run.Trajectories, testTrained)}
	own, end := iter.Pull2(jsonl.Trajectories(filepath.Join(v.dir, run.Trajectories, testTrained)))
	defer end()
	other, stop := iter.Pull2(jsonl.Trajectories(filepath.Join(v.dir, run.Trajectories, testBaseline)))
	defer stop()
	for {
		var chunk [][]*rl.Trajectory
		for len(chunk) < atOnce {
			a, err1 := take(own, half)
			b, err2 := take(other, half)
			if err := errors.Join(err1, err2); err != nil {
				return f.Tally, err
			}
			if len(a) == 0 && len(b) == 0 {
				break
			}
			chunk = append(chunk, append(a, b...))
		}
		if len(chunk) == 0 {
			return f.Tally, nil
		}
		if err := v.compute(ctx, recipe, chunk, &f); err != nil {
			return f.Tally, err
		}
	}
}

// take returns the next n trajectories, or fewer at the end or before a damaged part, which
// the checksums show.
func take(next func() (*rl.Trajectory, error, bool), n int) (all []*rl.Trajectory, err error) {
	for len(all) < n {
		t, err, ok := next()
		if !ok {
			break
		}
		if fail := fault.As(err); fail != nil && fail.Boundary == fault.Data {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
