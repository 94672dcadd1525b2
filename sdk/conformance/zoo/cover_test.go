package zoo_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Promise: every reward of the zoo has the same outcome, score and metrics with coverage as without,
// and says where it ran. A compiled one has the same fuel.
func TestCoverageChangesNothing(t *testing.T) {
	testneeds.Slow(t, "loads hundreds of rewards twice")
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	plain, with := coverRuntime(t, false), coverRuntime(t, true)
	loaded := 0
	for _, s := range index(t) {
		if s.Packages || s.Want == "refused" {
			continue
		}
		t.Run(s.File, func(t *testing.T) {
			file := s.File
			if s.language() != "" {
				file = s.module(t)
			}
			ref, err := sandbox.ParseReference(file)
			require.NoError(t, err)
			if s.With != nil {
				ref.With, err = json.Marshal(s.With)
				require.NoError(t, err)
			}
			a, err := plain.LoadReference(context.Background(), ref)
			require.NoError(t, err)
			b, err := with.LoadReference(context.Background(), ref)
			require.NoError(t, err)
			defer a.Close(context.Background())
			defer b.Close(context.Background())
			loaded++
			groups := s.members(t)
			for _, members := range groups {
				want, got := a.EvaluateGroup(context.Background(), members), b.EvaluateGroup(context.Background(), members)
				for i := range want {
					compareCovered(t, want[i], got[i])
					if s.language() != "" {
						require.Equal(t, want[i].Fuel, got[i].Fuel)
					}
				}
			}
		})
	}
	require.NotZero(t, loaded)
}

// compareCovered compares what does not depend on where objects are in memory, or on fuel.
func compareCovered(t *testing.T, want, got reward.Evaluation) {
	require.Equal(t, want.Outcome, got.Outcome, "%s\n%s", want.Reason, got.Reason)
	require.Equal(t, want.Result.Score, got.Result.Score)
	require.Equal(t, len(want.Result.Metrics), len(got.Result.Metrics))
	for i, m := range want.Result.Metrics {
		require.Equal(t, m.Score, got.Result.Metrics[i].Score, m.Name)
	}
	reached := uint64(0)
	for _, w := range got.Cover {
		reached |= w
	}
	require.NotZero(t, reached, "%s %s", got.Outcome, got.Reason)
}

func coverRuntime(t *testing.T, cover bool) *sandbox.Runtime {
	c := sandbox.DefaultConfig()
	c.Cover, c.WallClock, c.CacheDir = cover, 5*time.Minute, filepath.Join(filepath.Dir(interpreter.Folder()), "test")
	r, err := sandbox.New(context.Background(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return r
}

// members reads the rows, each alone or in their groups.
func (s specimen) members(t *testing.T) (groups [][]*rl.Trajectory) {
	for x, err := range jsonl.Trajectories(s.rows()) {
		if err != nil {
			continue // a row that merit eval reports
		}
		if n := len(groups); n > 0 && s.Grouped && groups[n-1][0].Group == x.Group {
			groups[n-1] = append(groups[n-1], x)
			continue
		}
		groups = append(groups, []*rl.Trajectory{x})
	}
	require.NotEmpty(t, groups)
	return groups
}
