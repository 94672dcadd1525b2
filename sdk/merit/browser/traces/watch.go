package traces

import (
	"context"
	"time"

	"github.com/merit-rl/merit/core/trace/store"
	"github.com/merit-rl/merit/sdk/merit/browser"
)

// Topics of the hub: Topic when any trace has changed, Topic/ID for one.
const Topic = "traces"

// TopicOf is the topic of a trace.
func TopicOf(id string) string { return "trace/" + id }

// mostChanges is how many changed traces are named; after more of them pages
// look at everything anew.
const mostChanges = 500

// watch looks for what this process and others have written, while somebody
// watches: a store has no way to call.
type watch struct {
	store store.Store
	every time.Duration
}

func (w watch) run(ctx context.Context, h *browser.Hub) error {
	at, err := w.store.Now(ctx)
	if err != nil {
		return err
	}
	for {
		if err := h.Watched(ctx); err != nil {
			return err
		}
		heads, next, err := w.store.Changes(ctx, at, mostChanges)
		if err != nil {
			return err
		}
		at = next
		if len(heads) == mostChanges {
			if at, err = w.store.Now(ctx); err != nil {
				return err
			}
			h.Publish(browser.Everything)
		} else if len(heads) > 0 {
			topics := []string{Topic}
			for i := range heads {
				topics = append(topics, TopicOf(heads[i].ID))
			}
			h.Publish(topics...)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(w.every):
		}
	}
}
