package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// plain is a store that has no more than the interface asks for.
type plain struct {
	store.Store
	traces []*trace.Trace
}

func (p plain) Each(_ context.Context, _ trace.Query, f func(*trace.Trace) error) error {
	for _, t := range p.traces {
		if err := f(t); err != nil {
			return err
		}
	}
	return nil
}

// Promise: rewards are found in any store, in the order of the traces, and
// nothing else is; an error of the caller ends it.
func TestRewardsOfAnyStore(t *testing.T) {
	s := plain{traces: []*trace.Trace{
		{Head: trace.Head{ID: "a"}, All: []trace.Span{{ID: "1", Kind: trace.KindContent}, {ID: "2", Kind: trace.KindReward}}},
		{Head: trace.Head{ID: "b"}, All: []trace.Span{{ID: "1", Kind: trace.KindReward}, {ID: "2", Kind: trace.KindReward}}},
	}}
	var got []string
	require.NoError(t, store.Rewards(t.Context(), s, trace.Query{}, func(h *trace.Head, r *trace.Span) error {
		got = append(got, h.ID+r.ID)
		return nil
	}))
	require.Equal(t, []string{"a2", "b1", "b2"}, got)
	enough := errors.New("enough")
	require.ErrorIs(t, store.Rewards(t.Context(), s, trace.Query{}, func(*trace.Head, *trace.Span) error { return enough }), enough)
}
