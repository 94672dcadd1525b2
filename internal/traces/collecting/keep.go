package collecting

import (
	"context"
	"log/slog"
	"time"

	"github.com/merit-rl/merit/internal/traces/store"
)

// keeper periodically removes traces that are too old or exceed the size limit.
type keeper struct {
	stop func()
	done chan struct{}
}

func startKeeper(s *store.Store, keep store.Retention, every time.Duration, log *slog.Logger) *keeper {
	ctx, stop := context.WithCancel(context.Background())
	k := &keeper{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			gone, err := s.Prune(ctx, keep)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				log.Error("cannot remove old traces", "error", err)
			case gone.Traces > 0:
				log.Info("removed old traces", "traces", gone.Traces, "spans", gone.Spans, "bytes", gone.Bytes)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return k
}

func (k *keeper) close() {
	k.stop()
	<-k.done
}
