package runspage

import (
	"context"
	"time"

	"github.com/merit-rl/merit/internal/ui"
)

// glance is how often the files of runs are looked at while a page watches.
// Files are looked at and not watched: that works on network drives, too, and
// one look at a thousand runs takes milliseconds.
const glance = time.Second

// Topics that pages listen to: Topic when a run comes, goes or grows, and
// Topic/ID for one run.
const topic = "runs"

// watch publishes what changes until ctx ends.
func (o *room) watch(ctx context.Context, h *ui.Hub) error {
	known := map[string]stamp{}
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		if h.Watched(ctx) != nil {
			return nil
		}
		if all, err := o.find(); err == nil { // else a page says what is wrong
			changed := len(all) != len(known)
			now := make(map[string]stamp, len(all))
			for _, p := range all {
				if known[p.ID] != p.stamp {
					changed = true
					h.Publish(topic + "/" + p.ID)
				}
				now[p.ID] = p.stamp
			}
			if known = now; changed {
				h.Publish(topic)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
