package chat

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// ask sends a request until it is answered, or fails for good, or has been
// retried often enough. Every attempt must fit into the budget.
func (c *Client) ask(ctx context.Context, q *Request, body []byte) (*Response, *answer, *fault.Error) {
	var r *Response
	a, f := c.persist(ctx, q.estimate(body), func() (*answer, *fault.Error) {
		need := c.need(q, body)
		if f := c.afford(ctx, need, q.MaxTokens == 0); f != nil {
			return nil, f
		}
		a, f := c.exchange(ctx, "/chat/completions", body)
		if f == nil {
			r, f = c.read(a, q)
		} else {
			r = nil
		}
		used := c.used(need, a, r, f)
		c.meter.settle(need, used)
		c.rate.settle(used, q.estimate(body))
		return a, f
	})
	if f != nil {
		return nil, a, f
	}
	c.meter.answered()
	return r, a, nil
}

// used is what an attempt took: what the answer says, or an estimate where a
// model may have worked and nobody says how much. A request that was refused
// took nothing.
func (c *Client) used(need Usage, a *answer, r *Response, f *fault.Error) Usage {
	switch {
	case r != nil && r.Usage != Usage{}:
		return r.Usage
	case a != nil && a.status != http.StatusOK, a == nil && f.Kind != fault.Timeout && f.Kind != fault.Protocol:
		return Usage{}
	case a == nil:
		return need // it timed out or broke off: the answer may have been whole
	case f == nil:
		return Usage{} // a server that does not count, and no budget
	}
	return Usage{Prompt: need.Prompt, Completion: len(a.body) / bytesPerToken}
}

// persist calls try, when it is its turn and within a slot, until it succeeds,
// fails for good, or has failed once more than there are retries. A try takes
// about so many tokens.
func (c *Client) persist(ctx context.Context, tokens int, try func() (*answer, *fault.Error)) (*answer, *fault.Error) {
	for attempt := 0; ; attempt++ {
		if f := c.admitted(ctx); f != nil {
			return nil, f
		}
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, c.ended(ctx, "waiting for max_concurrent")
		}
		if err := c.rate.wait(ctx, tokens); err != nil {
			<-c.slots
			return nil, c.late(ctx, err)
		}
		a, f := try()
		<-c.slots
		asked := time.Duration(0)
		if f != nil && a != nil {
			asked = after(a.retryAfter, time.Now())
			if asked <= longest*c.config.MaxBackoff {
				c.gate.close(time.Now().Add(asked))
			}
		}
		if f == nil || !f.Retry || ctx.Err() != nil {
			return a, f
		}
		if attempt == c.config.Retries {
			if attempt > 0 {
				f.What += fmt.Sprintf(", at attempt %d too", attempt+1)
			}
			return a, f
		}
		if asked > c.config.MaxBackoff {
			f.What += fmt.Sprintf(", and asks to wait for %v", asked.Round(time.Second))
			f.Hint = "come back later, or raise max_backoff; " + f.Hint
			return a, f
		}
		if !pause(ctx, c.backoff(attempt, asked, rand.Float64())) {
			return a, f
		}
		c.meter.retried()
	}
}

// backoff is the wait after a failed attempt (0, 1, …): a doubling one, up to
// half of it left to chance, which is in [0, 1); or what the server asked for
// and up to a quarter more, so that not all come back at once.
func (c *Client) backoff(attempt int, asked time.Duration, chance float64) time.Duration {
	if asked > 0 {
		return asked + time.Duration(chance*float64(asked)/4)
	}
	wait := math.Min(float64(c.config.Backoff)*math.Pow(2, float64(attempt)), float64(c.config.MaxBackoff))
	return time.Duration(wait * (1 - chance/2))
}

// after reads Retry-After, which is seconds or a date; 0 is no wish.
func after(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		if !(seconds > 0) {
			return 0
		}
		const most = 1e6
		return time.Duration(math.Min(seconds, most) * float64(time.Second))
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

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

// longest is how many times max_backoff the wait may be that a server asks of all
// requests. A longer one is an error of the request that was answered so.
const longest = 10

// admitted waits until the server takes requests again. A request whose deadline
// comes before that fails at once.
func (c *Client) admitted(ctx context.Context) *fault.Error {
	wait := time.Until(c.gate.opens())
	if wait <= 0 {
		return nil
	}
	if pause(ctx, wait) {
		return nil
	}
	if ctx.Err() != nil {
		return c.ended(ctx, "waiting until the server takes requests again")
	}
	return c.again(fault.Exhausted, "come back later, or raise max_backoff and the deadline of an answer", "the server asked to wait for %v more", wait.Round(time.Second))
}
