package store

import (
	"context"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Rewarder is a store that finds rewards without reading the rest of their
// traces: what distributions and agreement between raters are computed from.
type Rewarder interface {
	// Rewards calls f for every reward of the traces that q chooses, traces in
	// the order of List and the rewards of one by trace.Order, until f returns
	// an error, which it returns. It holds one trace's rewards at a time.
	Rewards(ctx context.Context, q trace.Query, f func(of *trace.Head, reward *trace.Span) error) error
}

// Rewards does what a Rewarder does, with any store: without the power, by
// reading traces whole.
func Rewards(ctx context.Context, s Store, q trace.Query, f func(of *trace.Head, reward *trace.Span) error) error {
	if r, ok := s.(Rewarder); ok {
		return r.Rewards(ctx, q, f)
	}
	return s.Each(ctx, q, func(t *trace.Trace) error {
		for i := range t.All {
			if t.All[i].Kind != trace.KindReward {
				continue
			}
			if err := f(&t.Head, &t.All[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
