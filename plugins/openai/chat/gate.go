package chat

import (
	"context"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// gate keeps all requests back until the time that a server asked for with
// Retry-After: a request that is sent again, and one of an episode that begins
// again, come no sooner than others.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

// close keeps requests back until then, or later if that was asked before.
func (g *gate) close(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.until) {
		g.until = until
	}
}

func (g *gate) opens() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}

// longest is how many times max_backoff a new request waits at a gate.
const longest = 10

// admitted waits until the server takes requests again. A request whose deadline
// comes before that, or that would wait far longer than any retry, fails at once.
func (c *Client) admitted(ctx context.Context) *fault.Error {
	wait := time.Until(c.gate.opens())
	if wait <= 0 {
		return nil
	}
	if wait <= longest*c.config.MaxBackoff && pause(ctx, wait) {
		return nil
	}
	if ctx.Err() != nil {
		return c.ended(ctx, "waiting until the server takes requests again")
	}
	return c.again(fault.Exhausted, "come back later, or raise max_backoff and the deadline of an answer", "the server asked to wait for %v more", wait.Round(time.Second))
}
