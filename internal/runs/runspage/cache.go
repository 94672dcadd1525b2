package runspage

import (
	"cmp"
	"sync"
)

// maxRows is how many iterations are held of all runs together, at about half a
// kilobyte each.
const maxRows = 500_000

// cache keeps the histories of runs that were looked at last.
type cache struct {
	mu     sync.Mutex
	most   int // rows; 0 = maxRows
	known  map[string]*history
	recent []string         // directories, the last used at the end
	briefs map[string]brief // what the list shows, of all runs
}

// use calls f with the history of a run as it is now. F must not keep it.
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

// trim forgets the histories that were not used for longest.
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
