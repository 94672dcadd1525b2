package runspage

import (
	"cmp"
	"sync"
)

// maxRows is the number of iterations of all runs together that the cache holds, at about half
// a kilobyte each.
const maxRows = 500_000

// cache holds the histories of the runs that were used last.
type cache struct {
	mu     sync.Mutex
	most   int // rows; 0 = maxRows
	known  map[string]*history
	recent []string         // directories, the most recently used last
	briefs map[string]brief // rows of the list, for all runs
}

// use calls f with the current history of a run. F must not keep it.
func (c *cache) use(dir string, f func(*history) error) error {
	h := c.get(dir)
	h.mu.Lock()
	err := h.follow(dir)
	if err == nil {
		err = f(h)
	}
	rows := h.rows
	h.mu.Unlock()
	c.trim(dir, rows)
	return err
}

func (c *cache) get(dir string) *history {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known, c.briefs = map[string]*history{}, map[string]brief{}
	}
	h := c.known[dir]
	if h == nil {
		h = &history{}
		c.known[dir] = h
	}
	for i, d := range c.recent {
		if d == dir {
			c.recent = append(c.recent[:i], c.recent[i+1:]...)
			break
		}
	}
	c.recent = append(c.recent, dir)
	return h
}

// trim removes the least recently used histories.
func (c *cache) trim(dir string, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.known[dir]; h != nil {
		h.held = rows
	}
	total := 0
	for _, h := range c.known {
		total += h.held
	}
	for total > cmp.Or(c.most, maxRows) && len(c.recent) > 1 {
		oldest := c.recent[0]
		total -= c.known[oldest].held
		c.recent = c.recent[1:]
		delete(c.known, oldest)
	}
}
