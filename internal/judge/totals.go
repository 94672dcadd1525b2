package judge

import (
	"sync"

	"github.com/merit-rl/merit/core/reward"
)

// Totals is what a judge was asked and what that cost.
type Totals = reward.Asked

// counters is a Totals that is safe for concurrent use.
type counters struct {
	mu sync.Mutex
	t  Totals
}

func (c *counters) add(change func(*Totals)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.t)
}

func (c *counters) question(cached bool) {
	c.add(func(t *Totals) {
		if t.Questions++; cached {
			t.Cached++
		}
	})
}

func (c *counters) again()         { c.add(func(t *Totals) { t.Retried++ }) }
func (c *counters) unscored(n int) { c.add(func(t *Totals) { t.Unscored += n }) }
func (c *counters) spend(u Usage)  { c.add(func(t *Totals) { t.Usage.Add(u) }) }

// Totals returns what the judge was asked so far and what that cost: the tokens of every
// answer, used or not, except cached ones.
func (j *Judge) Totals() Totals {
	j.totals.mu.Lock()
	defer j.totals.mu.Unlock()
	return j.totals.t
}
