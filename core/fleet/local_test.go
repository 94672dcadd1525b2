package fleet_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fleet"
)

// Promise: shards come back with their results, in this process.
func TestLocal(t *testing.T) {
	f := fleet.Local(2, map[fleet.Kind]fleet.Handler{fleet.Score: func(_ context.Context, s fleet.Shard, _ fleet.Contents) ([]byte, error) {
		return append(slices.Clone(s.Body), '!'), nil
	}}, nil)
	defer f.Close()
	got := map[int]string{}
	for r, err := range f.Submit(t.Context(), "job", slices.Values([]fleet.Shard{{Kind: fleet.Score, Body: []byte("a")}, {Kind: fleet.Score, Index: 1, Body: []byte("b")}})) {
		require.NoError(t, err)
		require.NoError(t, r.Err)
		got[r.Index] = string(r.Body)
	}
	require.Equal(t, map[int]string{0: "a!", 1: "b!"}, got)
}
