package advantage

// Stats describes a batch. Shares are from 0 to 1, and 0 if there is nothing to
// divide by. Rows without a score are in Rows only, and copies in branches nowhere.
type Stats struct {
	Rows               int     `json:"rows"`
	Trajectories       int     `json:"trajectories"`
	Branches           int     `json:"branches,omitempty"` // of the trajectories, those that branch off others
	Groups             int     `json:"groups"`
	Unscored           int     `json:"unscored"`             // trajectories without a score
	AnchorGroups       int     `json:"anchor_groups"`        // clusters with at least one scored row
	SingletonShare     float64 `json:"singleton_share"`      // of steps that are alone in their anchor group
	StepAdvantageShare float64 `json:"step_advantage_share"` // of steps with A_S ≠ 0
	MeanAnchorGroup    float64 `json:"mean_anchor_group"`    // steps per anchor group
	ZeroVarianceShare  float64 `json:"zero_variance_share"`  // of groups in which all scores are equal
}

func (d *Result) count(rows *Rows) {
	s := &d.scratch
	st := Stats{Rows: rows.Len(), Trajectories: s.order.trajectories(), Groups: int(width(rows.Group))}
	scored, nonZero := 0, 0
	for i, m := range s.member {
		if s.branches.any {
			if s.branches.copied(i) {
				st.Rows--
				continue
			}
			if s.begins(rows, i) && rows.branched(int32(i)) {
				st.Branches++
			}
		}
		if m < 0 {
			if s.begins(rows, i) {
				st.Unscored++
			}
			continue
		}
		scored++
		if d.Step[i] != 0 {
			nonZero++
		}
	}
	sizes := zeroed(s.level[0], int(width(d.AnchorGroup)))
	s.level[0] = sizes
	for i, c := range d.AnchorGroup {
		if c >= 0 && s.member[i] >= 0 {
			sizes[c]++
		}
	}
	st.AnchorGroups = len(sizes)
	alone := 0
	for _, n := range sizes {
		if n == 1 {
			alone++
		}
	}
	s.flags = GroupsWithVariance(resized(s.flags, st.Groups), rows.Score, s.member)
	flat := 0
	for _, varied := range s.flags {
		if !varied {
			flat++
		}
	}
	st.SingletonShare = share(alone, scored)
	st.StepAdvantageShare = share(nonZero, scored)
	st.ZeroVarianceShare = share(flat, st.Groups)
	if st.AnchorGroups > 0 {
		st.MeanAnchorGroup = float64(scored) / float64(st.AnchorGroups)
	}
	d.Stats = st
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// width returns the number of groups that ids name: the largest plus one.
func width(ids []int32) int32 {
	w := int32(0)
	for _, id := range ids {
		w = max(w, id+1)
	}
	return w
}

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
