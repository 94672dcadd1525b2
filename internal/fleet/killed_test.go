package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// left are the temporary folders of Merit that are in the system's folder.
func left(t *testing.T) (names []string) {
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

// Promise: a pass of which a worker process is killed while it scores has the bytes
// of one without a fleet; and what that process left in the system's temporary
// folder is gone when the next one has come and ended.
func TestScoreWorkerKilled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(hastyVariable, "1")
	data := trajectories(t, 2000)
	cfg, r := scripted(t, busy, "fleet.verify=0") // which would hold results back
	_, plain, err := score(t.Context(), t, r, cfg, nil, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
	require.NoError(t, err)

	var join fleet.Joining
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: 1, Timings: hasty, Joinable: func(j fleet.Joining) { join = j }})
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
	require.Eventually(t, func() bool { return len(s.Totals().Workers) == 2 }, time.Minute, time.Millisecond, "both score")
	require.NoError(t, victim.Process.Kill())
	require.ErrorContains(t, victim.Wait(), "killed")
	require.NoError(t, <-ended)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.True(t, plain == string(text))
	require.Positive(t, s.Totals().Redeliveries, "it was killed while it had a shard")
	require.NoError(t, f.Close())
	require.Len(t, left(t), 1, "the dead worker's")
	f, err = fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Empty(t, left(t))
}
