package verify

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

// headline recomputes the figures of summary.json: those of the test from the saved episodes,
// counts from the last checkpoint. The episodes of the greedy policy are not saved.
func (v *verification) headline(m *run.Manifest) error {
	s, err := run.ReadSummary(v.dir)
	if err != nil {
		return nil // reported before, or not written yet
	}
	v.same("rewards", s.Rewards, m.Rewards, run.ManifestFile)
	if c, err := run.ReadCheckpoint(v.dir, run.Last); err == nil {
		v.figures(c, s, m)
	}
	before, err1 := v.measured("test-baseline")
	after, err2 := v.measured("test-trained")
	if err := errors.Join(err1, err2); err != nil || before == nil || after == nil {
		return err
	}
	v.score("baseline", s.Baseline.Score, before, "test-baseline")
	v.score("trained", s.Trained.Score, after, "test-trained")
	test, p := before.Compare(after)
	v.same("p_value_test", s.Test, test, "the tests")
	v.same("p_value", s.PValue, p, "the tests")
	starts, err := after.Starts(v.dir, len(v.metrics))
	if err == nil {
		v.same("starts", s.Starts, starts, run.StartsFile+" and the tests")
	}
	return nil // the digest already shows an unreadable line of starts
}

// figures compares the counts of a summary with the last checkpoint.
func (v *verification) figures(c *run.Checkpoint, s *run.Summary, m *run.Manifest) {
	const from = run.Checkpoints + "/" + run.Last
	v.same("iterations", s.Iterations, c.Cursor.Iteration, from)
	v.same("best_iteration", s.Best, c.Cursor.Best.Iteration, from)
	v.same("env_steps", s.EnvSteps, c.Cursor.EnvSteps, from)
	v.same("episodes", s.Episodes, c.Cursor.Episodes, from)
	v.same("outcomes", s.Outcomes, c.Cursor.Outcomes, from)
	if m.Seed != c.Cursor.Seed {
		v.find(run.ManifestFile, recompute.Difference{Field: "seed", Stored: fmt.Sprint(m.Seed), Computed: fmt.Sprintf("%d by %s", c.Cursor.Seed, from)})
	}
	if v.cfg.Seed != c.Cursor.Seed {
		v.find(run.ConfigFile, recompute.Difference{Field: "seed", Stored: fmt.Sprint(v.cfg.Seed), Computed: fmt.Sprintf("%d by %s", c.Cursor.Seed, from)})
	}
}

// measured measures the saved episodes of a test, or returns nil if none, or not all, were
// saved.
func (v *verification) measured(name string) (*train.Measurement, error) {
	path := filepath.Join(v.dir, run.Trajectories, name+ending)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil, nil
	}
	m := &train.Measurement{Align: v.cfg.Align, Train: v.cfg.Train}
	for t, err := range jsonl.Trajectories(path) {
		if fail := fault.As(err); fail != nil && fail.Boundary == fault.Data {
			return nil, nil // already reported
		}
		if err != nil {
			return nil, err
		}
		m.Add(t)
	}
	return m, nil
}

func (v *verification) score(field string, stored run.Score, m *train.Measurement, name string) {
	computed, _ := m.Score()
	v.same(field, stored, computed, run.Trajectories+"/"+name+ending)
}

// same reports the first field of a part of summary.json that differs from the computed one.
// Sums are computed in a different order than in the run, so numbers may differ in their last
// bits.
func (v *verification) same(field string, stored, computed any, from string) {
	d, err := recompute.Values(stored, computed, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) })
	if err != nil || d == nil {
		return // both were read from JSON
	}
	d.Computed += " from " + from
	if d.Field == "" {
		d.Field = field
	} else {
		d.Field = field + "." + d.Field
	}
	v.find(run.SummaryFile, *d)
}
