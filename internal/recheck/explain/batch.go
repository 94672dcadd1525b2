package explain

import (
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// Batch is rows with their credit and with readable names: a group, or the whole content of a
// file. It is not safe for concurrent use.
type Batch struct {
	Config advantage.Config
	Rows   advantage.Rows
	Groups []string // names [groups]
	Result advantage.Result
	// Missing is how many members of the groups are not in the file. If it is above 0, the
	// means differ from those that the learner used.
	Missing int
	// Moments are the moments of a larger batch by which reinforce_pp whitened; nil means that
	// the rows are the whole batch.
	Moments *advantage.Moments

	members []Member         // [trajectories]; scores and advantages are in Rows and Result
	origin  []*rl.Trajectory // [trajectories]; nil for a file of rows
	actions []string         // [rows]
	saved   []*rl.Credit     // [rows]; nil where the file stores none
	others  []other
	near    *advantage.Result // see distances
	places  map[place]int     // see positions
}

// Expect sets Missing for groups that have the given number of members in total, without branches.
func (b *Batch) Expect(members int) {
	found := len(b.members)
	for t := range b.members {
		i, played := b.positions()[place{int32(t), 0}]
		if played && b.branch(i) || !played && b.origin != nil && b.origin[t].BranchOf != "" {
			found--
		}
	}
	b.Missing = max(0, members-found)
}

// estimate computes Result.
func (b *Batch) estimate(source string) error {
	var err error
	if b.Moments != nil {
		err = advantage.EstimatePart(b.Config, &b.Rows, b.Moments, &b.Result)
	} else {
		err = advantage.Estimate(b.Config, &b.Rows, &b.Result)
	}
	if err != nil {
		return uncomputable(source, err)
	}
	return nil
}

func uncomputable(source string, err error) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: source, What: "the advantages cannot be computed", Err: err,
		Hint: "choose an estimator that fits the data",
	}
}

// whitening is the estimator that normalizes over the whole batch.
const whitening = "reinforce_pp"

// member returns the group of row i, or −1 if its trajectory has no score, or if the row is a copy
// of another's.
func (b *Batch) member(i int) int32 {
	if b.owner(i) != i || b.Rows.Scored != nil && !b.Rows.Scored[i] {
		return -1
	}
	return b.Rows.Group[i]
}

// columns returns the inputs of the comparisons in a batch, as the estimator uses them.
func (b *Batch) columns() (group []int32, votes []bool, score []float64) {
	n := b.Rows.Len()
	group, votes = make([]int32, n), make([]bool, n)
	for i := range n {
		group[i], votes[i] = b.member(i), b.Rows.Step[i] == 0
	}
	return group, votes, b.Result.Score
}

// states returns the anchor groups of the rows, −1 for copies.
func (b *Batch) states() []int32 {
	if len(b.Result.Owner) == 0 {
		return b.Result.AnchorGroup
	}
	all := slices.Clone(b.Result.AnchorGroup)
	for i := range all {
		if b.owner(i) != i {
			all[i] = -1
		}
	}
	return all
}

// largest returns the first row with the largest |advantage| among those that fit, or −1 if
// none fits.
func (b *Batch) largest(fits func(row int) bool) int {
	best := -1
	for i, a := range b.Result.Advantage {
		if fits(i) && (best < 0 || abs(a) > abs(b.Result.Advantage[best])) {
			best = i
		}
	}
	return best
}

func abs(x float64) float64 { return max(x, -x) }

// Row returns the row of a step by the id of its trajectory and its number. An empty id and a
// number below 0 match any. If several rows match, Row returns the one with the largest
// |advantage|; if none matches, −1.
func (b *Batch) Row(trajectory string, step int) int {
	return b.largest(func(i int) bool {
		return (trajectory == "" || b.members[b.Rows.Trajectory[i]].Trajectory == trajectory) && (step < 0 || int(b.Rows.Step[i]) == step)
	})
}
