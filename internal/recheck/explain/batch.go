package explain

import (
	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// Batch is rows with their credit and with what people call them: a group, or
// everything that a file holds. It is for one goroutine.
type Batch struct {
	Config advantage.Config
	Rows   advantage.Rows
	Groups []string // names [groups]
	Result advantage.Result
	// Missing is how many members the groups lack: their means are not those
	// that the learner saw.
	Missing int
	// Moments are those of a larger batch by which reinforce_pp whitened; nil =
	// the rows are the whole of it.
	Moments *advantage.Moments

	members []Member         // [trajectories]; scores and advantages are of Rows and Result
	origin  []*rl.Trajectory // [trajectories], nil of rows
	actions []string         // [rows]
	saved   []*rl.Credit     // [rows], nil where the file holds none
	others  []other
}

// estimate fills Result.
func (b *Batch) estimate(source string) error {
	var err error
	if b.Moments != nil {
		err = advantage.EstimatePart(b.Config, &b.Rows, b.Moments, &b.Result)
	} else {
		err = advantage.Estimate(b.Config, &b.Rows, &b.Result)
	}
	if err != nil {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: source, What: "the advantages cannot be computed", Err: err,
			Hint: "choose an estimator that the data is fit for",
		}
	}
	return nil
}

// whitening is the estimator that compares with the whole batch.
const whitening = "reinforce_pp"

// member is the group of row i, or −1 if its trajectory has no score.
func (b *Batch) member(i int) int32 {
	if b.Rows.Scored != nil && !b.Rows.Scored[i] {
		return -1
	}
	return b.Rows.Group[i]
}

// columns are what the comparisons of a batch are made of, as the estimator
// has them.
func (b *Batch) columns() (group []int32, votes []bool, score []float64) {
	n := b.Rows.Len()
	group, votes = make([]int32, n), make([]bool, n)
	for i := range n {
		group[i], votes[i] = b.member(i), b.Rows.Step[i] == 0
	}
	score = advantage.PenaliseInvalid(make([]float64, n), b.Rows.Score, b.Rows.Valid, b.Config.InvalidActionPenalty)
	return group, votes, score
}

// largest is the row with the largest |advantage| of those that fit; −1 if none
// does. Of equal ones it is the first.
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

// Row is the row of a step by the id of its trajectory and its number; of
// several, the one with the largest |advantage|. An empty id and a number below
// 0 are any. It is −1 if there is none.
func (b *Batch) Row(trajectory string, step int) int {
	return b.largest(func(i int) bool {
		return (trajectory == "" || b.members[b.Rows.Trajectory[i]].Trajectory == trajectory) && (step < 0 || int(b.Rows.Step[i]) == step)
	})
}
