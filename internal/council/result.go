package council

import (
	"github.com/merit-rl/merit/core/rl"
)

// Result is the decision of a council.
type Result struct {
	Task      string   `json:"task"`
	Answer    string   `json:"answer"`
	By        []string `json:"by"`        // agents that gave the answer in the last round; empty if none answered
	Consensus bool     `json:"consensus"` // the quorum was reached before the limit of rounds
	Restarts  int      `json:"restarts"`
	Rounds    []Round  `json:"rounds"`
	// Agents are the conversations of the members, in their order, with a step for each
	// decision, for training.
	Agents []*rl.Trajectory `json:"-"`

	answers []*rl.Trajectory // the task and each member's last answer; nil if there is none
}

// Round is the record of one round.
type Round struct {
	Answers []Answer `json:"answers"` // by member
	Votes   []Vote   `json:"votes,omitempty"`
	Restart bool     `json:"restart,omitempty"` // a majority requested a restart
}

// Answer is the answer of one agent.
type Answer struct {
	Agent string `json:"agent"`
	Text  string `json:"text"`
	Error string `json:"error,omitempty"` // why there is no answer
}

// Vote is the vote of one agent. An agent that names no answer abstains.
type Vote struct {
	Agent   string `json:"agent"`
	For     string `json:"for,omitempty"` // first author of the answer, in the order of members
	Restart bool   `json:"restart,omitempty"`
	Reason  string `json:"reason,omitempty"` // reason for a restart
	Error   string `json:"error,omitempty"`  // why there is no vote
}

// Answers returns, for each member, the task and its last answer as a trajectory that a reward
// can score; nil for a member that never answered.
func (r *Result) Answers() []*rl.Trajectory { return r.answers }

// last returns the last round, which has the decision.
func (r *Result) last() *Round { return &r.Rounds[len(r.Rounds)-1] }
