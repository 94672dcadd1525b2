// Package explain says why a step got its advantage: the members of its group
// and their scores, the steps that saw the same state, the means and deviations
// that both were compared with, the sum, and what other estimators would have
// given. Every number is computed again by package advantage; where a file
// holds the numbers that the learner saw, the two are compared bit by bit.
package explain

import (
	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/rl"
)

// Explanation is the way to one step's advantage. Its JSON is part of Merit's
// interface.
type Explanation struct {
	Source     string           `json:"source,omitempty"`    // the file
	Iteration  int              `json:"iteration,omitempty"` // of training; 0 = none is known
	Group      string           `json:"group"`
	Trajectory string           `json:"trajectory"`
	Step       int              `json:"step"`  // 0-based
	Steps      int              `json:"steps"` // of the trajectory
	Action     string           `json:"action,omitempty"`
	Scored     bool             `json:"scored"` // false = all below is 0: nothing is learned from the step
	Config     advantage.Config `json:"config"`

	Members  []Member `json:"members"`                // of the group, in the file's order
	Missing  int      `json:"missing,omitempty"`      // members that the file does not hold
	Episode  *Term    `json:"episode_term,omitempty"` // A_E; nil = the estimator has none
	Return   Return   `json:"return"`
	Anchor   *Anchor  `json:"anchor,omitempty"`    // nil = the steps have no anchors
	StepTerm *Term    `json:"step_term,omitempty"` // A_S; nil = the estimator has none, or it is in Levels or Deltas
	Levels   []Level  `json:"levels,omitempty"`    // hgpo
	Deltas   []Delta  `json:"deltas,omitempty"`    // gae, from the step to the end of its trajectory

	EpisodeAdvantage float64 `json:"episode_advantage"` // A_E as the estimator gives it
	StepAdvantage    float64 `json:"step_advantage"`    // A_S as the estimator gives it
	Advantage        float64 `json:"advantage"`         // what the learner multiplies

	Others      []Other      `json:"others,omitempty"`      // what it would be elsewise
	Saved       *rl.Credit   `json:"saved,omitempty"`       // what the file holds; nil = nothing
	Differences []Difference `json:"differences,omitempty"` // where Saved is something else
	Checked     int          `json:"checked"`               // steps of the group of which the file holds the credit
	Agree       int          `json:"agree"`                 // of those: equal to the last bit
	Notes       []string     `json:"notes,omitempty"`       // in words: what is special
	Messages    []rl.Message `json:"messages,omitempty"`    // around the step: what the policy saw last, what it said, what came of it
}

// Member is a trajectory of the group.
type Member struct {
	Trajectory string   `json:"trajectory"`
	Steps      int      `json:"steps"`
	Outcome    string   `json:"outcome"`           // reward.Outcome
	Reason     string   `json:"reason,omitempty"`  // why there is no score
	Score      *float64 `json:"score"`             // nil = none
	Advantage  *float64 `json:"episode_advantage"` // A_E of its first step; nil = none
}

// Term is a value compared with its kind: (Of − Mean) / Divisor.
type Term struct {
	advantage.Spread
	Of      float64 `json:"of"`      // the step's own score R, or return G
	Divisor float64 `json:"divisor"` // 1, a deviation plus epsilon, or (n−1)/n
	Value   float64 `json:"value"`
	Rule    string  `json:"rule"` // why Mean and Divisor are what they are
}

// Return is how the discounted return to go came about: Reward + γ·Next, less
// Penalty.
type Return struct {
	Reward    float64 `json:"reward"`              // base reward r of the step
	Next      float64 `json:"next"`                // G of the next step before its own penalty; the bootstrap value where a truncated episode ends; else 0
	Penalty   float64 `json:"penalty,omitempty"`   // for an invalid action, after discounting
	Value     float64 `json:"value"`               // G
	Bootstrap bool    `json:"bootstrap,omitempty"` // Next is the critic's estimate
}

// Anchor is the state that the step saw, with every step of the group that saw
// it too.
type Anchor struct {
	Key        string  `json:"key"`
	Number     int     `json:"number"`               // within the file or batch that was read
	Similarity float64 `json:"similarity,omitempty"` // 0 = equal keys only
	Steps      []Peer  `json:"steps"`                // the step itself is one of them
}

// Peer is a step in an anchor group.
type Peer struct {
	Trajectory string  `json:"trajectory"`
	Step       int     `json:"step"`
	Action     string  `json:"action,omitempty"`
	Return     float64 `json:"return"`
	Value      float64 `json:"step_advantage"` // A_S as the estimator gives it
	Advantage  float64 `json:"advantage"`
	Self       bool    `json:"self,omitempty"`
	Key        string  `json:"key,omitempty"` // where it is similar, not equal
}

// Other is the advantage that the step would have under other settings.
type Other struct {
	Name             string  `json:"name"`
	EpisodeAdvantage float64 `json:"episode_advantage"`
	StepAdvantage    float64 `json:"step_advantage"`
	Advantage        float64 `json:"advantage"`
}

// Difference is a number that the file holds otherwise.
type Difference struct {
	Field    string  `json:"field"`
	Saved    float64 `json:"saved"`
	Computed float64 `json:"computed"`
}
