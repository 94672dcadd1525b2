package chat

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/merit-rl/merit/core/fault"
)

// Totals is what a client has used.
type Totals struct {
	Answers  int     `json:"answers"`  // of the server
	Replayed int     `json:"replayed"` // of cassettes
	Retries  int     `json:"retries"`  // requests that were sent again
	Tokens   Tokens  `json:"tokens"`
	Cost     float64 `json:"cost"` // by the prices of the configuration
}

// Tokens counts the tokens of many answers; those of cassettes are not among
// them.
type Tokens struct {
	Prompt     int64 `json:"prompt"`
	Cached     int64 `json:"cached"`
	Completion int64 `json:"completion"`
}

// price is what tokens cost.
func (b Budget) price(prompt, completion int64) float64 {
	return (float64(prompt)*b.InputPrice + float64(completion)*b.OutputPrice) / 1e6
}

// meter counts. Cost is computed from the counts, so it does not depend on the
// order of answers.
type meter struct {
	budget Budget
	mu     sync.Mutex
	totals Totals
}

func (m *meter) read() Totals {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.totals
	t.Cost = m.budget.price(t.Tokens.Prompt, t.Tokens.Completion)
	return t
}

func (m *meter) change(f func(*Totals)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.totals)
}

func (m *meter) answered() { m.change(func(t *Totals) { t.Answers++ }) }
func (m *meter) replayed() { m.change(func(t *Totals) { t.Replayed++ }) }
func (m *meter) retried()  { m.change(func(t *Totals) { t.Retries++ }) }

func (m *meter) used(u Usage) {
	m.change(func(t *Totals) {
		t.Tokens.Prompt += int64(u.Prompt)
		t.Tokens.Cached += int64(u.Cached)
		t.Tokens.Completion += int64(u.Completion)
	})
}

// spent says that the budget is, if it is.
func (c *Client) spent() *fault.Error {
	t, b := c.meter.read(), c.config.Budget
	var f *fault.Error
	switch tokens := t.Tokens.Prompt + t.Tokens.Completion; {
	case b.Tokens > 0 && tokens >= b.Tokens:
		f = c.fault(fault.Exhausted, "raise budget.tokens", "%d of %d tokens are used", tokens, b.Tokens)
	case b.Cost > 0 && t.Cost >= b.Cost:
		f = c.fault(fault.Exhausted, "raise budget.cost", "%.4g of %.4g are spent", t.Cost, b.Cost)
	default:
		return nil
	}
	f.Err = ErrBudget
	return f
}

// pace holds requests and tokens to their rates. Nil limiters do not limit.
type pace struct{ requests, tokens *rate.Limiter }

func newPace(requests, tokens int) *pace {
	p := &pace{}
	if requests > 0 { // hosted services look at less than a minute, so a second's worth may come at once
		p.requests = rate.NewLimiter(rate.Limit(float64(requests)/60), max(1, requests/60))
	}
	if tokens > 0 {
		p.tokens = rate.NewLimiter(rate.Limit(float64(tokens)/60), max(1, tokens/6))
	}
	return p
}

// wait lets a request of about n tokens pass when its time has come.
func (p *pace) wait(ctx context.Context, n int) error {
	if p.requests != nil {
		if err := p.requests.Wait(ctx); err != nil {
			return err
		}
	}
	for p.tokens != nil && n > 0 {
		part := min(n, p.tokens.Burst())
		if err := p.tokens.WaitN(ctx, part); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

// settle takes what an answer used beyond its estimate from those that follow.
func (p *pace) settle(u Usage, estimate int) {
	if p.tokens == nil {
		return
	}
	const most = 10 // bursts: more than a minute is not made up for
	burst := p.tokens.Burst()
	for more := min(u.Prompt+u.Completion-estimate, most*burst); more > 0; more -= burst {
		p.tokens.ReserveN(time.Now(), min(more, burst))
	}
}

// late is the error of a caller whose time is over before its turn.
func (c *Client) late(ctx context.Context, err error) *fault.Error {
	if ctx.Err() != nil {
		return c.ended(ctx, "waiting for the rate limit")
	}
	f := c.again(fault.Timeout, "raise the deadline, or the rate limit if the server allows it", "its turn under the rate limit comes after its deadline")
	f.Err = err
	return f
}
