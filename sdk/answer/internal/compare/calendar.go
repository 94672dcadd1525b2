package compare

import "github.com/merit-rl/merit/sdk/answer/internal/syntax"

// calendar compares dates, and times of day. What the gold does not state, the answer
// may: a year, a.m. or p.m.
func (j *Judge) calendar(g, a *syntax.Node) Result {
	if is(g, "date") && is(a, "date") {
		for i, part := range g.Args {
			if part.Num.Sign() != 0 && !part.Num.Equal(a.Args[i].Num) {
				return Different
			}
		}
		return j.by("exact", 0)
	}
	x, halfX, ok1 := minutes(g)
	y, halfY, ok2 := minutes(a)
	if !ok1 || !ok2 {
		return Different
	}
	if !halfX || !halfY {
		x, y = x%(12*60), y%(12*60)
	}
	if x != y {
		return Different
	}
	return j.by("exact", 0)
}

// minutes are the minutes of a clock since midnight, and whether they count from midnight to midnight.
// A ratio such as 15:30 is one too.
func minutes(n *syntax.Node) (m int64, half, ok bool) {
	switch {
	case is(n, "clock"):
		m, ok = n.Args[0].Num.Int64()
		return m, len(n.Args) > 1 || m >= 13*60, ok
	case is(n, "ratio") && len(n.Args) == 2 && n.Args[0].Kind == syntax.Number && n.Args[1].Kind == syntax.Number:
		h, ok1 := n.Args[0].Num.Int64()
		m, ok2 := n.Args[1].Num.Int64()
		return 60*h + m, h > 12, ok1 && ok2 && h >= 0 && h < 24 && m >= 0 && m < 60
	}
	return 0, false, false
}
