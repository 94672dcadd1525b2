package advantage

import (
	"fmt"
	"math"
)

// Rows is a batch of steps as columns of one length, in batch order. A
// trajectory's rows may be anywhere in the batch.
//
// Optional columns are nil when the batch does not have them.
type Rows struct {
	Group      []int32   // group of the row's trajectory, 0 … groups−1
	Trajectory []int32   // trajectory, 0 … trajectories−1, unique over the whole batch
	Step       []int32   // 0-based; a trajectory of T rows has each of 0 … T−1 once
	Reward     []float64 // base reward r of the step
	Score      []float64 // episode score R, the same in all rows of a trajectory

	Anchor     []string  // optional: key of the state that the step saw; equal keys inside a group are one anchor group
	Scored     []bool    // optional: the trajectory has a score; nil = all have
	Valid      []bool    // optional: the action was valid; nil = all were
	Value      []float64 // optional: the critic's estimate of the state that the step saw
	Bootstrap  []float64 // optional: the critic's estimate of the state after the step; read only where a truncated trajectory ends
	Terminated []bool    // optional: the step reached an end state
	Truncated  []bool    // optional: the step was cut off; nil = none was
	Role       []string  // optional: who decided, of several players or agents
	Greedy     []float64 // optional: episode score of a greedy episode from the group's start, the same in the whole group; NaN = it has none
	Rewards    []reward  // optional: see AddReward

	// Optional, for trajectories that branch off others: BranchOf is the trajectory of the same
	// group that the row's trajectory left, or −1, and BranchAt is the first step after that. Both
	// are the same in all rows of a trajectory. The rows before are copies of the other's.
	BranchOf, BranchAt []int32

	// Optional, for counterfactual: log-probability of the action, nats; NaN = unknown.
	LogProb []float64

	// Optional, for tigpo: steps of earlier updates that lead on from the row's state. KeptSteps
	// is their number, 0 for none; KeptTo is a row of the same group that saw the state they lead
	// to, below 0 for a success.
	KeptSteps, KeptTo []int32
}

// reward is one of several rewards of an episode, before they are added up.
type reward struct {
	Name   string
	Weight float64
	Score  []float64 // [rows]; the same in all rows of a trajectory; NaN in groups that this reward does not judge
}

// AddReward appends a column for one of the rewards that add up to Score, with its weight
// in the sum, and returns its scores, all NaN: [rows], to be filled by the caller. A reward
// judges all members of a group, or none, whose scores stay NaN.
func (r *Rows) AddReward(name string, weight float64) []float64 {
	score := make([]float64, r.Len())
	for i := range score {
		score[i] = math.NaN()
	}
	r.Rewards = append(r.Rewards, reward{name, weight, score})
	return score
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.Group) }

// RowError is a batch that cannot be estimated, with the row at which it shows.
type RowError struct {
	Row  int
	What string
}

// Error names the row by its 0-based number in the batch.
func (e *RowError) Error() string { return fmt.Sprintf("row %d: %s", e.Row, e.What) }

// check panics if the columns differ in length and returns the first row with
// a number that is not finite.
func (r *Rows) check() error {
	n := r.Len()
	sameLength(n, "trajectory", len(r.Trajectory))
	sameLength(n, "step", len(r.Step))
	sameLength(n, "reward", len(r.Reward))
	sameLength(n, "score", len(r.Score))
	optional := func(name string, present bool, m int) {
		if present {
			sameLength(n, name, m)
		}
	}
	optional("anchor", r.Anchor != nil, len(r.Anchor))
	optional("scored", r.Scored != nil, len(r.Scored))
	optional("valid", r.Valid != nil, len(r.Valid))
	optional("value", r.Value != nil, len(r.Value))
	optional("bootstrap", r.Bootstrap != nil, len(r.Bootstrap))
	optional("terminated", r.Terminated != nil, len(r.Terminated))
	optional("truncated", r.Truncated != nil, len(r.Truncated))
	optional("role", r.Role != nil, len(r.Role))
	optional("greedy", r.Greedy != nil, len(r.Greedy))
	for _, x := range r.Rewards {
		optional("reward "+x.Name, true, len(x.Score))
	}
	optional("branch of", r.BranchOf != nil, len(r.BranchOf))
	optional("branch at", r.BranchOf != nil, len(r.BranchAt))
	optional("log prob", r.LogProb != nil, len(r.LogProb))
	optional("kept steps", r.KeptSteps != nil, len(r.KeptSteps))
	optional("kept to", r.KeptSteps != nil, len(r.KeptTo))
	for i := range r.Reward {
		if !r.scored(i) {
			continue
		}
		if !finite(r.Reward[i]) {
			return &RowError{i, fmt.Sprintf("reward is %v", r.Reward[i])}
		}
		if !finite(r.Score[i]) {
			return &RowError{i, fmt.Sprintf("episode score is %v", r.Score[i])}
		}
		if r.KeptSteps != nil && !r.continues(i) {
			return &RowError{i, fmt.Sprintf("%d kept steps lead to row %d, but a row of its group with a score is needed", r.KeptSteps[i], r.KeptTo[i])}
		}
	}
	return nil
}

func (r *Rows) scored(i int) bool { return r.Scored == nil || r.Scored[i] }

// continues reports whether the kept steps of row i are none, or lead somewhere.
func (r *Rows) continues(i int) bool {
	n, to := r.KeptSteps[i], int(r.KeptTo[i])
	return n == 0 || n > 0 && n <= maxDistance && (to < 0 || to < r.Len() && r.Group[to] == r.Group[i] && r.scored(to))
}

// bootstraps reports whether the value after row i counts: only if the step
// was truncated and did not terminate.
func (r *Rows) bootstraps(i int) bool {
	return r.Bootstrap != nil && r.Truncated != nil && r.Truncated[i] &&
		(r.Terminated == nil || !r.Terminated[i])
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func sameLength(n int, name string, m int) {
	if n != m {
		panic(fmt.Sprintf("advantage: %s has %d rows, expected %d", name, m, n))
	}
}
