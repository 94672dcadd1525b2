package advantage

// GroupsWithVariance marks in dst the groups whose scores differ, the ones
// that dynamic sampling keeps, and returns dst. A group in which nothing
// differs, or with fewer than two scored members, teaches nothing by
// comparison: callers drop it and sample another.
//
// Shapes: dst [groups]; scores, group [rows]. group < 0 takes no part.
// Source: arXiv 2503.14476, Section 3.2 (DAPO, dynamic sampling).
func GroupsWithVariance(dst []bool, scores []float64, group []int32) []bool {
	sameLength(len(scores), "group", len(group))
	clear(dst)
	origin := make([]float64, len(dst))
	seen := make([]bool, len(dst))
	for i, g := range group {
		if g < 0 {
			continue
		}
		if !seen[g] {
			seen[g], origin[g] = true, scores[i]
		}
		dst[g] = dst[g] || scores[i] != origin[g]
	}
	return dst
}
