package store

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func onePut(id string) *put { return &put{rows: []*row{{id: id}}, done: make(chan error, 1)} }

// Promise: puts that wait share a transaction; if it fails they are tried one by
// one, so that only the one to blame has an error; one whose caller gave up
// before it was begun is not written.
func TestGroupsOfPuts(t *testing.T) {
	busy, release := make(chan struct{}), make(chan struct{})
	wrong := errors.New("wrong")
	var groups [][]string
	w := newWriter(func(group []*put) error {
		var ids []string
		for _, p := range group {
			ids = append(ids, p.rows[0].id)
		}
		groups = append(groups, ids)
		if ids[0] == "first" {
			close(busy)
			<-release
		}
		for _, id := range ids {
			if id == "bad" {
				return wrong
			}
		}
		return nil
	})
	var work sync.WaitGroup
	work.Go(func() { require.NoError(t, w.put(t.Context(), onePut("first"))) })
	<-busy

	given, cancel := context.WithCancel(t.Context())
	cancel()
	gone := onePut("gone")
	require.NoError(t, w.send(t.Context(), gone)) // it waits in the queue
	require.True(t, gone.state.CompareAndSwap(waiting, givenUp))
	require.ErrorIs(t, w.put(given, onePut("never")), context.Canceled)
	puts := []*put{onePut("a"), onePut("bad"), onePut("b")}
	for _, p := range puts {
		require.NoError(t, w.send(t.Context(), p))
	}
	close(release)
	work.Wait()
	require.NoError(t, <-puts[0].done)
	require.ErrorIs(t, <-puts[1].done, wrong)
	require.NoError(t, <-puts[2].done)
	w.close()
	w.close()
	require.Equal(t, [][]string{{"first"}, {"a", "bad", "b"}, {"a"}, {"bad"}, {"b"}}, groups)
	require.ErrorContains(t, w.put(t.Context(), onePut("late")), "closed")
}
