package advantage

// memo maps keys to numbers. Its room is kept when it is emptied.
type memo[K comparable] struct {
	m    map[K]int32
	most int // keys held at once so far
}

func (c *memo[K]) get(k K) (int32, bool) {
	v, ok := c.m[k]
	return v, ok
}

func (c *memo[K]) put(k K, v int32) {
	if c.m == nil {
		c.m = make(map[K]int32)
	}
	c.m[k] = v
}

func (c *memo[K]) clear() {
	c.most = max(c.most, len(c.m))
	clear(c.m)
}

// shedFrom is how many keys are worth dropping: below, they fit the nearest
// caches anyway.
const shedFrom = 1024

// shed may drop the keys, which will not be asked for again: a small map stays
// in the processor's caches. Emptying costs as much as the map ever held, so it
// waits for half as many keys; over a batch that is linear in the keys.
func (c *memo[K]) shed() {
	if len(c.m) >= max(shedFrom, c.most/2) {
		c.clear()
	}
}
