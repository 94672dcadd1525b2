package advantage

import "math"

// AnchorGroups writes the anchor group of each row into dst and returns dst.
// Inside a group, rows with the same anchor are one anchor group; numbers run
// over the batch in order of first appearance.
//
// With similarity in (0, 1) a row joins the first cluster of its group, in the
// order in which the clusters arose, whose first member's anchor is at least
// that similar by [Ratio]; if there is none it starts a cluster. With 0 only
// equal anchors join.
//
// Shapes: dst, group, anchors [rows]. group < 0 takes no part and gets −1.
// Cost: linear in rows; with similarity, rows with a new anchor are compared
// with the clusters of their group.
// Source: arXiv 2505.10978, Eq. 6; similarity: its reference implementation.
func AnchorGroups(dst []int32, group []int32, anchors []string, similarity float64) []int32 {
	c := clusters{left: math.MaxInt64}
	return c.assign(dst, group, anchors, similarity, false)
}

// clusters finds anchor groups; its map is reused between batches.
type clusters struct {
	known memo[anchorKey] // anchors seen, to their cluster
	heads [][]head        // by group: the clusters, for similarity
	left  work            // of comparing anchors; below 0 assign has stopped
}

type anchorKey struct {
	group  int32
	anchor string
}

// head is the first member of a cluster.
type head struct {
	id int32
	matcher
}

// assign is AnchorGroups; together says that the rows of each group are adjacent.
func (c *clusters) assign(dst, group []int32, anchors []string, similarity float64, together bool) []int32 {
	sameLength(len(dst), "group", len(group))
	sameLength(len(dst), "anchors", len(anchors))
	if similarity > 0 {
		c.heads = make([][]head, width(group))
	}
	next, current := int32(0), int32(-1)
	for i, g := range group {
		if c.left < 0 {
			break
		}
		if g < 0 {
			dst[i] = -1
			continue
		}
		if g != current && together {
			c.known.shed()
		}
		current = g
		key := anchorKey{g, anchors[i]}
		id, ok := c.known.get(key)
		if !ok {
			// New clusters are only appended, so an anchor stays in the cluster
			// where it was placed first.
			id = next
			if similarity > 0 {
				id = c.place(g, anchors[i], similarity, next)
			}
			c.known.put(key, id)
			next = max(next, id+1)
		}
		dst[i] = id
	}
	c.known.clear() // release the strings
	c.heads = nil
	return dst
}

// place returns the first cluster of the group that anchor fits, or opens the
// cluster next.
func (c *clusters) place(group int32, anchor string, similarity float64, next int32) int32 {
	text := []rune(anchor)
	for i := range c.heads[group] {
		if c.heads[group][i].atLeast(text, similarity, &c.left) || c.left < 0 {
			return c.heads[group][i].id
		}
	}
	h := head{next, newMatcher(text)}
	c.left -= perPoint*work(len(text)) + perNew*work(len(h.count))
	c.heads[group] = append(c.heads[group], h)
	return next
}

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

// shed may drop the keys, which are not needed again: a small map stays in the
// CPU's caches. Emptying costs as much as the map ever held, so it waits for half
// as many keys; over a batch that is linear in the keys.
func (c *memo[K]) shed() {
	if len(c.m) >= max(shedFrom, c.most/2) {
		c.clear()
	}
}
