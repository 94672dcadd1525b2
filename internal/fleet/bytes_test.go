package fleet_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/sdk/merit"
)

// odd is an environment whose texts are not UTF-8.
type odd struct{ env.Env }

func (o odd) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	err := o.Env.Exchange(ctx, b, r)
	for i, op := range b.Ops {
		if op != env.Skip {
			r.Text[i] += " \xff"
			r.Events = append(r.Events,
				env.Event{Slot: i, Kind: env.EventMetric, Name: "m\xff", Message: "1"},
				env.Event{Slot: i, Kind: env.EventInfo, Name: "i\xfe", Message: `{"a": "ü"}`},
				env.Event{Slot: i, Kind: env.EventInfo, Name: "no JSON", Message: "\xc3("},
				env.Event{Slot: i, Kind: env.EventToolResult, Name: "tool\xff", Message: "\xed\xa0\x80 said"},
			)
		}
	}
	return err
}

// Promise: an episode with texts that are not UTF-8, and branches of it, give the same bytes of a
// run with and without a fleet.
func TestSameBytesOfOddTexts(t *testing.T) {
	testneeds.NotShort(t)
	cfg := config(t, sokoban, "train.iterations=2", "rollout.branch.where=every", "rollout.branch.depth=2", "rollout.branch.max_steps=90")
	s := open(t, cfg)
	strange := merit.WithEnvironment(func(ctx context.Context, split string, worker int) (env.Env, error) {
		e, err := s.OpenEnv(ctx, split, worker)
		return odd{e}, err
	})
	plain, err := play(t.Context(), t, open(t, cfg, strange), nil, merit.TrainOptions{})
	require.NoError(t, err)

	executor := fleet.NewExecutor(fleet.ExecutorOptions{Dir: t.TempDir()})
	f := queue.Local(2, executor.Handlers())
	c, err := fleet.NewCoordinator(f, s, fleet.CoordinatorOptions{})
	require.NoError(t, err)
	executor.Hold(c, open(t, cfg, strange))
	got, err := play(t.Context(), t, s, nil, merit.TrainOptions{OpenPlayer: c.OpenPlayer})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, executor.Close())

	seen, branches := 0, 0
	for name, text := range plain {
		switch {
		case name == "metrics.jsonl":
			require.Equal(t, text, got[name])
		case strings.HasPrefix(name, "trajectories/"):
			require.True(t, text == got[name], name)
			z, err := zstd.NewReader(strings.NewReader(text))
			require.NoError(t, err)
			plainly, err := io.ReadAll(z)
			require.NoError(t, err)
			z.Close()
			require.Contains(t, string(plainly), `"m\ufffd":1`, "the odd texts are there")
			branches += strings.Count(string(plainly), `"branch_of":"`)
			seen++
		}
	}
	require.Greater(t, seen, 1)
	require.Positive(t, branches)
}

// Promise: weights that are too large for a fleet are refused before a worker has them in
// memory, and weights embedded in an order must match its digest.
func TestWeightsOfAnOrder(t *testing.T) {
	testneeds.Slow(t, "trains with several fleets")
	small := queue.ContentOf([]byte("weights"))
	of := func(o shardcodec.Order, c queue.Content) ([]byte, error) {
		o.Policy = c.Digest
		return fleet.StateOf(t.Context(), o, queue.Shard{Needs: []queue.Content{queue.ContentOf(nil), c}})
	}
	got, err := of(shardcodec.Order{}, small)
	require.NoError(t, err)
	require.Equal(t, "weights", string(got))
	path := filepath.Join(t.TempDir(), "weights")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 256<<20+1)) // no disk is used
	_, err = of(shardcodec.Order{}, queue.Content{Digest: small.Digest, Open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) }})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Exhausted))
	_, err = of(shardcodec.Order{Weights: []byte("y")}, small)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Corrupt))
}
