package council

import (
	"github.com/merit-rl/merit/core/rl"
)

// Result is what a council came to.
type Result struct {
	Task      string   `json:"task"`
	Answer    string   `json:"answer"`
	By        []string `json:"by"`        // who gave it in the last round; empty if nobody answered
	Consensus bool     `json:"consensus"` // it was agreed on, not cut off by the limit
	Restarts  int      `json:"restarts"`
	Rounds    []Round  `json:"rounds"`
	// Agents are the conversations of the members, in their order, with a step for
	// each decision: what a learner learns from.
	Agents []*rl.Trajectory `json:"-"`

	answers []*rl.Trajectory // the task and each member's last answer; nil without one
}

// Round is what was said in one round.
type Round struct {
	Answers []Answer `json:"answers"` // by member
	Votes   []Vote   `json:"votes,omitempty"`
	Restart bool     `json:"restart,omitempty"` // a majority asked to begin again
}

// Answer is what one agent answered.
type Answer struct {
	Agent string `json:"agent"`
	Text  string `json:"text"`
	Error string `json:"error,omitempty"` // why there is none
}

// Vote is what one agent voted for. An agent that named nothing abstains.
type Vote struct {
	Agent   string `json:"agent"`
	For     string `json:"for,omitempty"` // who gave the answer first, in the order of members
	Restart bool   `json:"restart,omitempty"`
	Reason  string `json:"reason,omitempty"` // of a restart
	Error   string `json:"error,omitempty"`  // why there is none
}

// Answers returns, for each member, its last answer as a trajectory that a
// reward can score: the task and that answer; nil for one that never answered.
func (r *Result) Answers() []*rl.Trajectory { return r.answers }

// last is the last round, in which the decision fell.
func (r *Result) last() *Round { return &r.Rounds[len(r.Rounds)-1] }
