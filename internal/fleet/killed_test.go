package fleet_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/sdk/merit"
)

// busy is a reward that takes some time.
const busy = `
export default function (rollout) {
  const said = rollout.messages.at(-1).content;
  let x = said.length;
  for (let i = 0; i < 5000; i++) x = (x * 31 + i) % 65537;
  return { score: x / 65537, is_score_valid: true, metrics: {} };
}
`

// remains returns Merit's folders in the system's temporary folder.
func remains(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "merit-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// Promise: a pass during which a worker process is killed has the same bytes as one without a
// fleet. Temporary files of the killed process are gone after the next process has exited.
func TestScoreWorkerKilled(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(hastyVariable, "1")
	t.Setenv(doomedVariable, "outside")
	data := trajectories(t, 2000)
	cfg, r := scripted(t, busy, "fleet.verify=0") // which would hold results back
	_, plain, err := score(t.Context(), t, r, cfg, nil, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
	require.NoError(t, err)

	var join fleet.JoinInfo
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Timings: hasty, OnReady: func(j fleet.JoinInfo) { join = j }})
	require.NoError(t, err)
	victim := outsider(t, join)
	s, err := fleet.NewScorer(f, r, cfg, fleet.CoordinatorOptions{})
	require.NoError(t, err)
	ended := make(chan error, 1)
	out := filepath.Join(t.TempDir(), "out.jsonl")
	go func() {
		_, err := r.Evaluate(t.Context(), merit.EvaluateOptions{Data: data, Out: out, SkipBad: true, Evaluator: s, Chunk: fleet.ScoreChunk})
		ended <- err
	}()
	require.ErrorContains(t, victim.Wait(), "killed")
	require.Contains(t, strings.Join(remains(t), " "), "merit-worker", "the dead worker's folder")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		left <- fleet.Work(ctx, fleet.WorkOptions{Join: join.URL, Name: "next", Slots: 1, Access: fleet.Config{Key: join.Key}, Timings: hasty})
	}()
	require.NoError(t, <-ended)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.True(t, plain == string(text))
	require.Positive(t, s.Totals().Redeliveries, "the shard that it died with")
	leave()
	require.NoError(t, <-left)
	require.NoError(t, f.Close())
	require.Empty(t, remains(t))
}
