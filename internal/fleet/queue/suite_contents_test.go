package queue_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/fleet/queue"
)

// texts is a handler that returns the contents that its shard needs, joined.
func texts(ctx context.Context, s queue.Shard) (all []byte, err error) {
	for _, c := range s.Needs {
		text, err := c.Bytes(ctx, 8<<20)
		if err != nil {
			return nil, err
		}
		all = append(all, text...)
	}
	return all, nil
}

// Promise: handlers receive the contents that shards need unchanged, and read no more than that
// at one time.
func contents(t *testing.T, open Open) {
	f := start(t, open, 2, texts)
	large := strings.Repeat("0123456789abcdef", 5<<16)
	var needs []queue.Content
	for _, text := range []string{"small", "", large, "weights"} {
		needs = append(needs, queue.ContentOf([]byte(text)))
	}
	var all []queue.Shard
	for i := range 12 {
		all = append(all, queue.Shard{Kind: queue.Rollout, Index: i, Needs: needs})
	}
	for _, r := range gather(t, f, "contents", all) {
		require.NoError(t, r.Err)
		require.True(t, bytes.Equal([]byte("small"+large+"weights"), r.Body))
	}
	huge := queue.ContentOf(make([]byte, 8<<20+1))
	infrastructure(t, gather(t, f, "huge", []queue.Shard{{Kind: queue.Rollout, Needs: []queue.Content{huge}}})[0], "more than 8388608 bytes")
}
