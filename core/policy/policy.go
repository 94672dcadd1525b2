// Package policy defines the interfaces of policies: Policy, which makes decisions
// for observations in a rollout, and Learner, which the training loop also
// updates. The embedded network (core/learn) and plug-ins implement both. The
// contract suites are policytest.Run and policytest.RunLearner.
package policy

import (
	"context"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
)

// Policy chooses actions. Act may be called from several goroutines at once.
type Policy interface {
	// Act fills decisions[i] for observations[i]. A decision depends on its own
	// observation and seed only, never on its neighbors in the batch. A decision
	// that could not be made has Err set; an error of Act itself means that no
	// decision was made.
	Act(ctx context.Context, observations []Observation, decisions []Decision) error
	// Version counts the updates that the learner has made.
	Version() uint64
}

// Rater is an optional interface of a Policy: it computes the probability of
// decisions that another policy made, to learn from recorded episodes.
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
	Seed     rl.Seed         // determines the randomness of this decision
	Start    uint64          // the seed of the episode's start, which the members of a group share
	Greedy   bool            // take the likeliest action instead of sampling

	// Tokens are the token ids of the conversation so far, as sampled: the prompt
	// and the output of the last decision. They represent the first Covered
	// messages, so that only later messages need a tokenizer. They are nil before
	// the first decision, and if the policy returns no tokens.
	Tokens  []int32
	Covered int

	// Answered is true if Messages end with an answer that another model gave. The
	// policy decides nothing: its decision has the Prompt and the Tokens of this answer,
	// whose log-probabilities are not used. Only a policy whose Spec.Imitates is asked.
	Answered bool
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
	Tokens   []rl.Token // sampled after them
	LogitMax float32    // largest available logit, for rl.Sampled
	Lag      uint64     // how many updates older than Version the weights are that decided
	Info     map[string]json.RawMessage

	// Stop ends the episode: rl.StopPolicyEnded if the policy has finished,
	// rl.StopContext if the conversation no longer fits. A Raw that is not empty
	// becomes a last step; Action is ignored.
	Stop rl.StopReason
	// Err is why there is no decision. If it is fault.Retryable, the episode is
	// lost and may be started again. Any other error, and the crash of a learner,
	// ends the collection, because no episode can be played.
	Err error
}
