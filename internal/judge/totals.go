package judge

import "sync"

// Totals is what a judge was asked and what that cost.
type Totals struct {
	Questions int `json:"questions"` // groups, or trajectories one by one
	Cached    int `json:"cached"`    // of Questions, those that were answered before
	Retried   int `json:"retried"`   // answers that could not be used and were asked for again
	Unscored  int `json:"unscored"`  // trajectories without a score
	Usage
}

// counters are Totals that several goroutines add to.
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

// Totals returns what the judge was asked so far, and what that cost: tokens
// of every answer, used or not, but none of those that were kept.
func (j *Judge) Totals() Totals {
	j.totals.mu.Lock()
	defer j.totals.mu.Unlock()
	return j.totals.t
}

// Add adds what another judge was asked.
func (t *Totals) Add(other Totals) {
	t.Questions += other.Questions
	t.Cached += other.Cached
	t.Retried += other.Retried
	t.Unscored += other.Unscored
	t.Usage.Add(other.Usage)
}
