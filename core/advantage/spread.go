package advantage

import "math"

// Spread describes the values that a relative advantage compares with.
type Spread struct {
	N         int     `json:"n"`         // values that count
	Mean      float64 `json:"mean"`      // 0 if there are none
	Deviation float64 `json:"deviation"` // divisor n−1; 0 of fewer than two values
	Varied    bool    `json:"varied"`    // not all are equal
}

// Spreads returns the spread of each group's votes, bit for bit as
// [EpisodeAdvantages] and [StepAdvantages] use them, to display them.
//
// Shapes: x, group, votes [rows], the result [groups]. Group < 0 takes no part;
// votes nil means that all rows count.
func Spreads(x []float64, group []int32, votes []bool) []Spread {
	sameLength(len(x), "group", len(group))
	if votes != nil {
		sameLength(len(x), "votes", len(votes))
	}
	var buf []moment
	out := make([]Spread, 0, width(group))
	for _, m := range measure(&buf, x, group, votes, true) {
		out = append(out, Spread{N: m.n, Mean: m.mean, Deviation: math.Sqrt(m.m2 / float64(max(m.n-1, 1))), Varied: m.varied})
	}
	return out
}
