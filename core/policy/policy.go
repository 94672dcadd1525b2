// Package policy is what a rollout needs of a policy: decisions for a batch of
// observations. The embedded network (core/learn) and plug-ins implement it.
// The contract suite is policytest.Run.
package policy

import (
	"context"

	"github.com/merit-rl/merit/core/rl"
)

// Policy chooses actions. Act may be called from several goroutines at once.
type Policy interface {
	// Act fills decisions[i] for observations[i]. A decision depends on its
	// own observation and seed only, never on its neighbours in the batch.
	Act(ctx context.Context, observations []Observation, decisions []Decision) error
	// Version counts the learner updates behind the policy.
	Version() uint64
}

// Observation is what a policy sees of one slot. All of it is shared memory:
// read only, valid during the call.
type Observation struct {
	Messages []rl.Message // the conversation so far, ending with the environment's turn
	Text     string       // the last observation alone
	Features []float32    // the observation tensor; nil if the environment has none
	Mask     []byte       // 1 = available, per action; nil = all
	Actions  []string     // names of the discrete actions; nil = free text
	Seed     rl.Seed      // the randomness of this decision
}

// Decision is what the policy chose.
type Decision struct {
	Action   rl.Action
	Raw      string // the output before parsing; empty if there is none
	LogProb  float64
	Entropy  float64
	Value    float64
	HasValue bool
	Tokens   []rl.Token
	LogitMax float32 // largest available logit, for rl.Sampled
	End      bool    // the policy is done with the episode; Action is ignored
}
