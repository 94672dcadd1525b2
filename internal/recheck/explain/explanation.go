// Package explain explains why a step got its advantage: the members of its group and their
// scores, the steps with the same state, the means and deviations of both, the sum, and the
// result of other estimators. Package advantage recomputes every number. If the file stores
// the numbers that the learner used, the two are compared bit by bit.
package explain

import (
	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/rl"
)

// Explanation explains one step's advantage. Its JSON is a stable interface of Merit.
type Explanation struct {
	Source     string           `json:"source,omitempty"`    // the file
	Iteration  int              `json:"iteration,omitempty"` // of training; 0 = unknown
	Group      string           `json:"group"`
	Trajectory string           `json:"trajectory"`
	Step       int              `json:"step"`  // 0-based
	Steps      int              `json:"steps"` // of the trajectory
	Action     string           `json:"action,omitempty"`
	Scored     bool             `json:"scored"` // false = everything below is 0: the learner ignores the step
	Config     advantage.Config `json:"config"`

	Members  []Member `json:"members"`                // of the group, in the file's order
	Missing  int      `json:"missing,omitempty"`      // members that are not in the file
	Episode  *Term    `json:"episode_term,omitempty"` // A_E; nil = the estimator has none
	Return   Return   `json:"return"`
	Anchor   *Anchor  `json:"anchor,omitempty"`    // nil = the steps have no anchors
	StepTerm *Term    `json:"step_term,omitempty"` // A_S; nil = the estimator has none, or it is in Levels or Deltas
	Levels   []Level  `json:"levels,omitempty"`    // hgpo
	Rewards  []Judged `json:"rewards,omitempty"`   // gdpo: the parts of A_E
	Deltas   []Delta  `json:"deltas,omitempty"`    // gae and gagpo, from the step to the end of its trajectory
	GainTerm *Term    `json:"gain_term,omitempty"` // g2po: the second part of A_S
	Graph    *Graph   `json:"graph,omitempty"`     // graphgpo, tigpo, g2po and gagpo
	Edges    []Edge   `json:"edges,omitempty"`     // graphgpo, tigpo, g2po and gagpo: where the steps from the state lead

	EpisodeAdvantage float64 `json:"episode_advantage"` // A_E as the estimator gives it
	StepAdvantage    float64 `json:"step_advantage"`    // A_S as the estimator gives it
	Advantage        float64 `json:"advantage"`         // factor of the gradient in the loss

	Others      []Other      `json:"others,omitempty"`      // advantages under other settings
	Saved       *rl.Credit   `json:"saved,omitempty"`       // stored values; nil = none
	Differences []Difference `json:"differences,omitempty"` // stored values that differ
	Checked     int          `json:"checked"`               // steps of the group with stored credit
	Agree       int          `json:"agree"`                 // of those, the number that is equal bit for bit
	Notes       []string     `json:"notes,omitempty"`       // remarks on special cases
	NotRead     []string     `json:"not_read,omitempty"`    // what a file of another tool says that was not read
	Messages    []rl.Message `json:"messages,omitempty"`    // around the step: the last input of the policy, its answer, and the response

	// Tree is how the state of the step was played on, if episodes branched; nil = none did.
	Tree *Tree `json:"branches,omitempty"`
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

// Term is a value compared with others of its kind: (Of − Mean) / Divisor.
type Term struct {
	advantage.Spread
	Of      float64 `json:"of"`      // the step's own value, such as its score R or return G
	Divisor float64 `json:"divisor"` // 1, a deviation plus epsilon, or (n−1)/n
	Value   float64 `json:"value"`
	Rule    string  `json:"rule"` // how Mean and Divisor were computed
}

// Return shows how the discounted return to go is computed: Reward + γ·Next, minus Penalty.
type Return struct {
	Reward    float64 `json:"reward"`              // base reward r of the step
	Next      float64 `json:"next"`                // G of the next step before its own penalty; the bootstrap value where a truncated episode ends; else 0
	Penalty   float64 `json:"penalty,omitempty"`   // for an invalid action, after discounting
	Value     float64 `json:"value"`               // G
	Bootstrap bool    `json:"bootstrap,omitempty"` // Next is the critic's estimate
}

// Anchor is the state of the step, with every step of the group that has the same state.
type Anchor struct {
	Key        string  `json:"key"`
	Number     int     `json:"number"`               // within the file or batch
	Similarity float64 `json:"similarity,omitempty"` // 0 = equal keys only
	Steps      []Peer  `json:"steps"`                // includes the step itself
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
	Leads      *Leads  `json:"leads,omitempty"` // graphgpo and g2po
	Key        string  `json:"key,omitempty"`   // set if the state is similar, not equal
}

// Leads is what a step leads to, in the graph of states.
type Leads struct {
	Next  float64 `json:"next"`            // q of graphgpo, V′ of g2po
	After int     `json:"after,omitempty"` // graphgpo: steps from the next state to a success
}

// Other is the advantage that the step would have under other settings.
type Other struct {
	Name             string  `json:"name"`
	EpisodeAdvantage float64 `json:"episode_advantage"`
	StepAdvantage    float64 `json:"step_advantage"`
	Advantage        float64 `json:"advantage"`
}

// Difference is a stored number that differs from the computed one.
type Difference struct {
	Field    string  `json:"field"`
	Saved    float64 `json:"saved"`
	Computed float64 `json:"computed"`
}

// Compared returns the value that the peer is compared by, where of is its name in the
// explanation (see StepOf).
func (p *Peer) Compared(of string) float64 {
	switch {
	case p.Leads != nil:
		return p.Leads.Next
	case of == "A_S":
		return p.Value
	}
	return p.Return
}
