// Package policy is what a rollout needs of a policy, decisions for
// observations, and what the training loop needs of one that learns. The
// embedded network (core/learn) and plug-ins implement both. The contract
// suites are policytest.Run and policytest.RunLearner.
package policy

import (
	"context"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
)

// Policy chooses actions. Act may be called from several goroutines at once.
type Policy interface {
	// Act fills decisions[i] for observations[i]. A decision depends on its
	// own observation and seed only, never on its neighbours in the batch. One
	// that could not be made says so in its Err; an error of Act itself means
	// that none was.
	Act(ctx context.Context, observations []Observation, decisions []Decision) error
	// Version counts the learner updates behind the policy.
	Version() uint64
}

// Rater is an optional power of a Policy: to say how likely a decision is that
// somebody made, for learning from what was played elsewhere.
type Rater interface {
	// Rate fills LogProb, Entropy, Value and LogitMax of decisions[i], whose
	// Action is given, as if the policy had made it at observations[i]. An action
	// that is not available there is an error. It may be called as Act may.
	Rate(ctx context.Context, observations []Observation, decisions []Decision) error
}

// Observation is what a policy sees of one slot. All of it is shared memory:
// read only, valid during the call.
type Observation struct {
	Messages []rl.Message    // the conversation so far, ending with the environment's turn
	Text     string          // the last observation alone
	Features []float32       // the observation tensor; nil if the environment has none
	Mask     []byte          // 1 = available, per action; nil = all
	Actions  []string        // names of the discrete actions; nil = free text
	Tools    json.RawMessage // what may be called, as OpenAI's list of tools; nil = none
	Seed     rl.Seed         // the randomness of this decision
	Start    uint64          // the seed of the episode's start, which the members of a group share
	Greedy   bool            // take the likeliest action instead of sampling

	// Tokens are what the policy's own decisions have made of the conversation
	// so far, as sampled: the prompt of the last one and what it said. They
	// stand for the first Covered messages, so that only what came since needs
	// a tokenizer. Nil before the first decision, and where a policy gives no
	// tokens.
	Tokens  []int32
	Covered int
}

// Decision is what the policy chose.
type Decision struct {
	Action   rl.Action
	Raw      string // the output before parsing; empty if there is none
	LogProb  float64
	Entropy  float64
	Value    float64
	HasValue bool
	Prompt   []int32    // all tokens that the model was given; nil if it is not known
	Tokens   []rl.Token // sampled behind them
	LogitMax float32    // largest available logit, for rl.Sampled
	Lag      uint64     // how many updates older than Version the weights are that decided
	Info     map[string]json.RawMessage

	// Stop ends the episode: rl.StopPolicyEnded if the policy is done with it,
	// rl.StopContext if the conversation no longer fits. Raw, if there is any,
	// is a last step; Action is ignored.
	Stop rl.StopReason
	// Err is why there is no decision. If it is fault.Retryable the episode is
	// lost and may be begun again; with any other error, or one that says that
	// a learner crashed, no episode can be played, and the collection ends.
	Err error
}
