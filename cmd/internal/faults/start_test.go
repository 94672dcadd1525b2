package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// episodes are the trajectories of a run's training, by id.
func episodes(t *testing.T, folder string) map[string]*rl.Trajectory {
	t.Helper()
	all := map[string]*rl.Trajectory{}
	for tr, err := range jsonl.Trajectories(filepath.Join(folder, "run", run.Trajectories, "train.jsonl.zst")) {
		require.NoError(t, err)
		for i := range tr.Steps {
			if c := tr.Steps[i].Credit; c != nil {
				c.AnchorGroup = 0 // counts through the iteration, whose groups are fewer
			}
		}
		all[tr.ID] = tr
	}
	return all
}

// Promise: a start that always kills the environment costs the episodes of its
// own group, each with the failure and no score; every other episode of the
// training is the one of the run without it.
func TestOneStartKills(t *testing.T) {
	testneeds.Slow(t, "trains with plug-ins that die")
	p, err := build(t.Context(), t.TempDir())
	require.NoError(t, err)
	whole, poisoned := t.TempDir(), t.TempDir()
	_, err = train(t.Context(), p, injected{fault: none, groups: 8}, false, whole)
	require.NoError(t, err)
	want := episodes(t, whole)
	require.Len(t, want, 2*8*4)
	const group = "train-2-g2" // of the last iteration: what is learnt from the rest differs afterwards
	killer := injected{fault: "crash", groups: 8, seed: want[group+"-m0"].Seed}
	o, err := train(t.Context(), p, killer, true, poisoned)
	require.NoError(t, err)
	require.NoError(t, o.err)
	require.Equal(t, 4, o.lost)
	got := episodes(t, poisoned)
	require.Len(t, got, len(want))
	for id, tr := range got {
		if !strings.HasPrefix(id, group+"-") {
			require.Equal(t, want[id], tr)
			continue
		}
		require.Equal(t, rl.StopError, tr.StopReason)
		require.Contains(t, tr.Error, "exit status 7")
		require.Nil(t, tr.Evaluation, fmt.Sprint("a failed episode has no score: ", id))
	}
}
