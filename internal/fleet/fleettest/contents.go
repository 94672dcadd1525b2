package fleettest

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet"
)

func put(t *testing.T, f fleet.Fleet, text string) fleet.Digest {
	d := fleet.DigestOfBytes([]byte(text))
	require.NoError(t, f.Put(deadline(t), d, int64(len(text)), strings.NewReader(text)))
	return d
}

// texts is a handler that returns what its shard needs, one after the other.
func texts(ctx context.Context, s fleet.Shard, contents fleet.Contents) (all []byte, err error) {
	for _, d := range s.Needs {
		path, err := contents.Path(ctx, d)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, text...)
	}
	return all, nil
}

// Promise: what is put reaches handlers as it is; what is not what its digest and
// size say is refused, and does not stand in the way of what is.
func contents(t *testing.T, open Open) {
	f := start(t, open, 2, texts)
	large := strings.Repeat("0123456789abcdef", 5<<16)
	needs := []fleet.Digest{put(t, f, "small"), put(t, f, ""), put(t, f, large)}
	require.NoError(t, f.Put(deadline(t), needs[2], int64(len(large)), unread{t}), "it is there")

	d := fleet.DigestOfBytes([]byte("weights"))
	for _, wrong := range []string{"weighty", "weight", "weights and more", ""} {
		require.Error(t, f.Put(deadline(t), d, 7, strings.NewReader(wrong)), wrong)
	}
	require.Error(t, f.Put(deadline(t), d, 7, io.MultiReader(strings.NewReader("wei"), cut{})))
	require.Error(t, f.Put(deadline(t), "sha256:short", 7, strings.NewReader("weights")))
	require.ErrorIs(t, f.Put(deadline(t), d, fleet.MaxBlob+1, strings.NewReader("weights")), fault.Of(fault.Fleet, ""))
	needs = append(needs, put(t, f, "weights"))

	var all []fleet.Shard
	for i := range 12 {
		all = append(all, fleet.Shard{Kind: fleet.Rollout, Index: i, Needs: needs})
	}
	for _, r := range gather(t, f, "contents", all) {
		require.NoError(t, r.Err)
		require.True(t, bytes.Equal([]byte("small"+large+"weights"), r.Body))
	}
}

// unread fails its test if it is read.
type unread struct{ t *testing.T }

// Read implements io.Reader.
func (u unread) Read([]byte) (int, error) {
	u.t.Error("content is read that is there")
	return 0, io.EOF
}

// cut is a line that is cut.
type cut struct{}

// Read implements io.Reader.
func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Promise: a shard that needs what nobody has put is given up and says what is
// missing; others go on.
func contentsMissing(t *testing.T, open Open) {
	f := start(t, open, 2, texts)
	there, gone := put(t, f, "there"), fleet.DigestOfBytes([]byte("gone"))
	got := gather(t, f, "missing", []fleet.Shard{
		{Kind: fleet.Rollout, Needs: []fleet.Digest{there}},
		{Kind: fleet.Rollout, Index: 1, Needs: []fleet.Digest{there, gone}},
	})
	require.NoError(t, got[0].Err)
	require.Equal(t, "there", string(got[0].Body))
	infrastructure(t, got[1], string(gone))
}

// Promise: a worker that must not compute a shard does not.
func notBy(t *testing.T, open Open) {
	f := start(t, open, 2, reversed)
	all := shards(20, "first")
	got := gather(t, f, "first", all)
	second := make([]fleet.Shard, len(all))
	for i, s := range all {
		s.Not = got[i].Worker
		second[i] = s
	}
	for i, r := range gather(t, f, "second", second) {
		require.NoError(t, r.Err)
		require.True(t, bytes.Equal(got[i].Body, r.Body))
		if got[i].Worker != "" {
			require.NotEqual(t, got[i].Worker, r.Worker)
		}
	}
}

// Promise: if a worker that must not compute a shard is the only one, it still
// does not; others of its shards go on.
func notByTheOnly(t *testing.T, open Open) {
	computed := make(chan int, 1000)
	f := start(t, open, 1, func(_ context.Context, s fleet.Shard, _ fleet.Contents) ([]byte, error) {
		computed <- s.Index
		return answer(s), nil
	})
	all := shards(20, "only")
	who := gather(t, f, "only", all)[0].Worker
	if who == "" {
		return // in this process nobody has a name
	}
	for len(computed) > 0 {
		<-computed
	}
	all[0].Not = who
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	go func() {
		for seen := map[int]bool{0: true}; len(seen) < len(all) && ctx.Err() == nil; {
			select {
			case i := <-computed:
				seen[i] = true
			case <-ctx.Done():
			}
		}
		cancel()
	}()
	for r, err := range f.Submit(ctx, "not", values(all)) {
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		require.True(t, r.Index != 0 || r.Err != nil || r.Worker != who, "the worker that must not has computed it")
	}
}
