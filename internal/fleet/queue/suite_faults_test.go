package queue_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// Promise: an error of a handler is not the shard's result: the shard is tried again.
func triedAgain(t *testing.T, open Open) {
	var tries sync.Map
	f := start(t, open, 2, func(_ context.Context, s queue.Shard) ([]byte, error) {
		n, _ := tries.LoadOrStore(string(s.Body), new(atomic.Int64))
		if n.(*atomic.Int64).Add(1) <= 2 && strings.HasSuffix(string(s.Body), "5") {
			return nil, errors.New("not yet")
		}
		return answer(s), nil
	})
	all := shards(20, "again")
	right(t, all, gather(t, f, "tried-again", all))
}

// Promise: a shard that fails on every try is given up with the cause, and does not affect
// other shards.
func givenUp(t *testing.T, open Open) {
	var tries atomic.Int64
	f := start(t, open, 2, func(_ context.Context, s queue.Shard) ([]byte, error) {
		if string(s.Body) == "poison 3" {
			tries.Add(1)
			return []byte("half"), errors.New("the judge is out")
		}
		return answer(s), nil
	})
	all := shards(20, "poison")
	got := gather(t, f, "given-up", all)
	infrastructure(t, got[3], "the judge is out")
	require.Greater(t, tries.Load(), int64(1))
	require.LessOrEqual(t, tries.Load(), int64(queue.MaxTries))
	delete(got, 3)
	right(t, append(all[:3:3], all[4:]...), got)
}

// infrastructure checks the error of a result without a body.
func infrastructure(t *testing.T, r queue.Result, cause string) {
	require.Error(t, r.Err)
	require.Empty(t, r.Body)
	require.NotNil(t, fault.As(r.Err), r.Err)
	require.Equal(t, fault.Fleet, fault.As(r.Err).Boundary)
	require.NotEmpty(t, fault.As(r.Err).Hint)
	require.ErrorContains(t, r.Err, cause)
}

// Promise: a handler that panics counts as one that fails, and its worker survives.
func panics(t *testing.T, open Open) {
	var nothing map[string]int
	f := start(t, open, 1, func(_ context.Context, s queue.Shard) ([]byte, error) {
		if string(s.Body) == "panic 0" {
			nothing["x"] = 1
		}
		return answer(s), nil
	})
	all := shards(5, "panic")
	got := gather(t, f, "panics", all)
	infrastructure(t, got[0], "panicked")
	right(t, all[1:], got)
}

// Promise: a shard that exceeds a limit is refused before any worker receives it, and so is its
// Submit.
func refused(t *testing.T, open Open) {
	f := start(t, open, 1, func(_ context.Context, s queue.Shard) ([]byte, error) {
		if s.Index != 0 || string(s.Body) != "fine" {
			t.Errorf("a worker got shard %d of %d bytes", s.Index, len(s.Body))
		}
		return s.Body, nil
	})
	fine := queue.Shard{Kind: queue.Score, Body: []byte("fine")}
	for what, wrong := range map[string]queue.Shard{
		"a body":     {Kind: queue.Score, Index: 1, Body: make([]byte, queue.MaxBody+1)},
		"a kind":     {Kind: "shell", Index: 1},
		"no kind":    {Index: 1},
		"a need":     {Kind: queue.Score, Index: 1, Needs: []queue.Content{{Digest: "sha256:../x"}}},
		"many needs": {Kind: queue.Score, Index: 1, Needs: slices.Repeat([]queue.Content{queue.ContentOf(nil)}, queue.MaxNeeds+1)},
	} {
		require.ErrorIs(t, last(t, f.Submit(deadline(t), "refused", values([]queue.Shard{fine, wrong}))), fault.Of(fault.Fleet, fault.Refused), what)
	}
	for _, job := range []string{"", "a.b", "a b", "*", ">", "ä", strings.Repeat("x", queue.MaxJob+1)} {
		require.ErrorIs(t, last(t, f.Submit(deadline(t), job, values([]queue.Shard{fine}))), fault.Of(fault.Fleet, fault.Refused), job)
	}
	require.Len(t, gather(t, f, strings.Repeat("x", queue.MaxJob), []queue.Shard{fine}), 1)
}

// last returns the error with which a Submit ends, and checks that it is the last value.
func last(t *testing.T, results iter.Seq2[queue.Result, error]) (ended error) {
	for r, err := range results {
		require.NoError(t, ended, "something comes after the error")
		if ended = err; err == nil {
			require.NoError(t, r.Err)
		}
	}
	return ended
}
