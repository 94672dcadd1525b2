package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/sdk/merit"
)

const lengths = `
export default function (rollout) {
  const said = rollout.messages.at(-1).content;
  if (rollout.ground_truth === "throw") throw new Error("no");
  return { score: said.length / 10, is_score_valid: true, reason: said.slice(0, 5) + "ü", metrics: {} };
}
`

// scripted opens a script as the only reward of a configuration.
func scripted(t *testing.T, script string, overrides ...string) (*merit.Config, *merit.Rewards) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reward.js")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o644))
	cfg, err := merit.PlayConfig(overrides...)
	require.NoError(t, err)
	cfg.Rewards = []merit.Reward{{Module: path, Weight: 1}}
	r, err := merit.LoadRewards(t.Context(), cfg.Sandbox, cfg.Rewards)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return cfg, r
}

// trajectories writes n trajectories in groups of three. One is not a trajectory, one has a
// large text, and for one the reward throws.
func trajectories(t *testing.T, n int) string {
	t.Helper()
	var text strings.Builder
	for i := range n {
		said, truth := strings.Repeat("a", i%23), "ü"
		switch i {
		case 7:
			truth = "throw"
		case 11:
			text.WriteString("{}\n")
		case 70:
			said = noise(1 << 20)
		}
		fmt.Fprintf(&text, `{"id":"t%d","group":"g%d","messages":[{"role":"user","content":"x"},{"role":"assistant","content":%q}],"ground_truth":%q,"extra":[%d]}`+"\n", i, i/3, said, truth, i)
	}
	path := filepath.Join(t.TempDir(), "data.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// noise is a text that stays larger than a body even if compressed.
func noise(n int) string {
	b, x := make([]byte, n), uint64(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"[x>>58]
	}
	return string(b)
}

// score scores data with f, or in this process, and returns the results.
func score(ctx context.Context, t *testing.T, r *merit.Rewards, cfg *merit.Config, f queue.Fleet, data, out string, resume bool) (*scoring.Summary, string, error) {
	t.Helper()
	o := merit.EvaluateOptions{Data: data, Out: out, SkipBad: true, Resume: resume}
	if f != nil {
		s, err := fleet.NewScorer(f, r, cfg, fleet.CoordinatorOptions{})
		require.NoError(t, err)
		o.Evaluator, o.Chunk = s, 100
	}
	summary, err := r.Evaluate(ctx, o)
	if err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	return summary, string(text), nil
}

// Promise: results have the same bytes as a pass without a fleet, for rewards that score single
// trajectories or compare groups, whatever the size of a text, with bad lines omitted and the
// same summary.
func TestScoreSameBytes(t *testing.T) {
	testneeds.NotShort(t)
	data := trajectories(t, 200)
	for name, script := range map[string]string{"alone": lengths, "group": group} {
		t.Run(name, func(t *testing.T) {
			cfg, r := scripted(t, script)
			want, plain, err := score(t.Context(), t, r, cfg, nil, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
			require.NoError(t, err)
			got, text, err := score(t.Context(), t, r, cfg, local(t, 3, nil), data, filepath.Join(t.TempDir(), "out.jsonl"), false)
			require.NoError(t, err)
			require.Equal(t, plain, text)
			require.Equal(t, want, got)
		})
	}
}

// Promise: worker processes of an embedded server score the same bytes, and their results are
// verified.
func TestScoreEmbedded(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	data := trajectories(t, 200)
	cfg, r := scripted(t, lengths, "fleet.verify=0.3")
	_, plain, err := score(t.Context(), t, r, cfg, nil, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
	require.NoError(t, err)
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: 2})
	require.NoError(t, err)
	_, text, err := score(t.Context(), t, r, cfg, f, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
	require.NoError(t, err)
	require.Equal(t, plain, text)
	require.Positive(t, f.Report().Checked)
	require.Zero(t, f.Report().Differed)
	require.NoError(t, f.Close())
}

// Promise: a trajectory that no worker can score has the outcome infrastructure and no score.
// Others in its shard have theirs, and an invalid result is requested again.
func TestScoreWithoutAnswer(t *testing.T) {
	testneeds.NotShort(t)
	data := trajectories(t, 150)
	cfg, r := scripted(t, lengths)
	_, plain, err := score(t.Context(), t, r, cfg, nil, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
	require.NoError(t, err)
	var garbage atomic.Int32
	f := breaking(t, func(s queue.Shard, ids []string) ([]byte, error) {
		if slices.Contains(ids, "t20") {
			return nil, errors.New("the judge is away")
		}
		if garbage.Add(1) == 1 {
			return []byte("garbage"), nil
		}
		return nil, nil
	})
	summary, text, err := score(t.Context(), t, r, cfg, f, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
	require.NoError(t, err)
	require.ErrorIs(t, summary.Unscored(), fault.Of("", fault.Unscored))
	wants, gots := strings.Split(plain, "\n"), strings.Split(text, "\n")
	require.Len(t, gots, len(wants))
	for i, line := range gots {
		if strings.HasPrefix(line, `{"id":"t20",`) {
			require.Contains(t, line, `"outcome":"`+string(reward.Infrastructure)+`","score":null`)
			require.Contains(t, line, "the judge is away")
			continue
		}
		require.Equal(t, wants[i], line)
	}
}

// Promise: a pass that was stopped keeps what is finished, and resumes with or without a fleet
// to the same bytes.
func TestScoreResumes(t *testing.T) {
	testneeds.NotShort(t)
	data := trajectories(t, 400)
	cfg, r := scripted(t, lengths)
	_, plain, err := score(t.Context(), t, r, cfg, nil, data, filepath.Join(t.TempDir(), "out.jsonl"), false)
	require.NoError(t, err)
	for _, goOn := range []queue.Fleet{nil, local(t, 2, nil)} {
		ctx, stop := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		f := breaking(t, func(_ queue.Shard, ids []string) ([]byte, error) {
			if slices.Contains(ids, "t250") {
				stop(enough)
			}
			return nil, nil
		})
		out := filepath.Join(t.TempDir(), "out.jsonl")
		_, _, err := score(ctx, t, r, cfg, f, data, out, false)
		require.ErrorAs(t, err, new(*scoring.Unfinished))
		summary, text, err := score(t.Context(), t, r, cfg, goOn, data, out, true)
		require.NoError(t, err)
		require.GreaterOrEqual(t, summary.Kept, 100)
		require.Equal(t, plain, text)
	}
}

// breaking is a fleet whose handler first calls a function. If that returns a result or an
// error, the handler stops there.
func breaking(t *testing.T, first func(s queue.Shard, ids []string) ([]byte, error)) queue.Fleet {
	t.Helper()
	return local(t, 2, func(h queue.Handler) queue.Handler {
		return func(ctx context.Context, s queue.Shard) ([]byte, error) {
			o, err := shardcodec.ReadScoring(ctx, s)
			if err != nil {
				return nil, err
			}
			var ids []string
			for _, x := range o.Trajectories {
				ids = append(ids, x.ID)
			}
			if body, err := first(s, ids); body != nil || err != nil {
				return body, err
			}
			return h(ctx, s)
		}
	})
}
