package tracespage

import (
	"context"
	"time"

	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/ui"
)

// Topic is the hub's topic for changes of any trace; see TopicOf for those of one.
const Topic = "traces"

// TopicOf returns the topic of a trace.
func TopicOf(id string) string { return "trace/" + id }

// mostChanges is the maximum number of changed traces to announce one by one; beyond
// it, pages reload everything.
const mostChanges = 500

// watch polls the store for what this process and others have written, while a page is
// open: a store cannot send notifications.
type watch struct {
	store interface {
		Now(context.Context) (uint64, error)
		Changes(ctx context.Context, after uint64, limit int) (heads []trace.Head, next uint64, err error)
	}
	every time.Duration
}

func (w watch) run(ctx context.Context, h *ui.Hub) error {
	at, err := w.store.Now(ctx)
	if err != nil {
		return err
	}
	for {
		if err := h.Watched(ctx); err != nil {
			return err
		}
		// A database server may be down for a while: the changes are still there when it
		// is back, and pages that load meanwhile report the problem.
		if next, topics, err := w.changed(ctx, at); err == nil && len(topics) > 0 {
			at = next
			h.Publish(topics...)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(w.every):
		}
	}
}

// changed returns the topics of what was written after at, and the point it read up to.
func (w watch) changed(ctx context.Context, at uint64) (next uint64, topics []string, err error) {
	heads, next, err := w.store.Changes(ctx, at, mostChanges)
	if err != nil || len(heads) == 0 {
		return at, nil, err
	}
	if len(heads) == mostChanges {
		next, err = w.store.Now(ctx)
		return next, []string{ui.Everything}, err
	}
	topics = []string{Topic}
	for i := range heads {
		topics = append(topics, TopicOf(heads[i].ID))
	}
	return next, topics, nil
}
