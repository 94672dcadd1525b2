package rl

import (
	"encoding/json"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// StopReason says why an episode ended.
type StopReason string

// The closed set of stop reasons. Terminated and truncated are never mixed:
// only a truncated episode may bootstrap from a value estimate.
const (
	StopTerminated  StopReason = "terminated"   // the environment reached an end state
	StopTruncated   StopReason = "truncated"    // the step limit or the environment cut the episode
	StopPolicyEnded StopReason = "policy_ended" // the policy ended the episode
	StopPattern     StopReason = "pattern"      // the configured expression matched the output
	StopContext     StopReason = "context"      // the conversation no longer fits the model
	StopInvalid     StopReason = "invalid"      // too many consecutive answers without an action
	StopError       StopReason = "error"        // a fault; see Trajectory.Error
)

// Trajectory is one episode: a conversation and the steps taken in it.
//
// Messages is the whole conversation, once. A step's observation is a prefix
// of it (see Trajectory.Observation), so an episode of n steps costs O(n).
type Trajectory struct {
	ID    string `json:"id"`
	Group string `json:"group,omitempty"`
	Task  string `json:"task,omitempty"`
	Seed  uint64 `json:"seed,omitempty"`
	// BranchOf is the id of the episode of the same group that this one left at step BranchAt;
	// empty for an episode that was played from the start. The steps before BranchAt, with their
	// messages, are copies of that episode's.
	BranchOf string    `json:"branch_of,omitempty"`
	BranchAt int       `json:"branch_at,omitempty"`
	Messages []Message `json:"messages"`
	// PromptMessages is how many of the messages belong to the prompt; nil if that
	// is unknown: see Prompt.
	PromptMessages *int `json:"prompt_messages,omitempty"`
	// AsText is which of the prompt and the completion was given as a text instead
	// of messages: rewards that take the two get them in that form.
	AsText      AsText                     `json:"given_as_text,omitempty"`
	GroundTruth json.RawMessage            `json:"ground_truth,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	Steps       []Step                     `json:"steps,omitempty"`
	StopReason  StopReason                 `json:"stop_reason,omitempty"`
	// Metrics are what the environment measured about the episode, by name, such
	// as how much longer it was than the shortest. They are not part of a reward.
	Metrics map[string]float64 `json:"env_metrics,omitempty"`
	// Bootstrap is the critic's estimate of the final observation of a
	// truncated episode, if there is a critic.
	Bootstrap  *float64        `json:"bootstrap,omitempty"`
	Error      string          `json:"error,omitempty"`
	Outcome    string          `json:"outcome,omitempty"` // reward.Outcome once evaluated
	Evaluation *EvaluateResult `json:"evaluation,omitempty"`
	// Notes are what rewards store with the trajectory in addition to their
	// results, by the reward's name, such as a judge's explanation. They also
	// exist without a score.
	Notes map[string]json.RawMessage `json:"reward_notes,omitempty"`
	// Won is, in a measurement by a reward that compares, the share of the reference
	// policy's episodes in the same group that have a lower score; ties count half.
	Won *float64 `json:"won,omitempty"`
	// GreedyScore is the episode score of a greedy episode from the same start: the
	// baseline of the estimator remax. It is nil without one.
	GreedyScore *float64 `json:"greedy_score,omitempty"`
	// GreedyOutcome is the reward.Outcome of that episode, if one was played.
	GreedyOutcome string `json:"greedy_outcome,omitempty"`
	// Own holds columns of the row whose names Merit uses itself, if their values
	// differ from Merit's: an id that is a number, the original object metadata,
	// the task of a trainer's data set. Metadata consists of the columns and the
	// entries of that object, if there is one. If Own is empty and not nil, there
	// is none. See Column.
	Own map[string]json.RawMessage `json:"own_columns,omitzero"`
	// Unnamed means that Merit or a client made up ID, and Ungrouped that it made
	// up Group: neither is a column of the data.
	Unnamed   bool `json:"-"`
	Ungrouped bool `json:"-"`
}

// Observation returns the messages that step i saw: a prefix of t.Messages
// that shares its memory and must not be written to.
func (t *Trajectory) Observation(i int) []Message {
	n := t.Steps[i].MessageCount
	return t.Messages[:n:n]
}

// AssistantIndex returns, for each message, its 0-based index among the
// assistant messages after the prompt (see Given) or -1, appended to dst.
func (t *Trajectory) AssistantIndex(dst []int32) []int32 {
	next, given := int32(0), t.Given()
	for i := range t.Messages {
		if i < given || t.Messages[i].Role != RoleAssistant {
			dst = append(dst, -1)
			continue
		}
		dst = append(dst, next)
		next++
	}
	return dst
}

// Role returns who decided at step i, of several players or agents: the role or the
// agent in the step's info, or the name of the message with the action. It is empty
// if nothing says it.
func (t *Trajectory) Role(i int) string {
	s := &t.Steps[i]
	for _, key := range []string{"role", "agent"} {
		var name string
		if raw := s.Info[key]; raw != nil && strictjson.Unmarshal(raw, &name) == nil && name != "" {
			return name
		}
	}
	if n := s.MessageCount; n >= 0 && n < len(t.Messages) {
		return t.Messages[s.MessageCount].Name
	}
	return ""
}

// Group is a set of trajectories from one identical start: same task, same
// environment seed. Only such members are comparable.
type Group struct {
	ID           string        `json:"id"`
	Task         Task          `json:"task"`
	Trajectories []*Trajectory `json:"trajectories"`
}

// Complete reports whether every member finished: none was lost to a fault.
func (g *Group) Complete() bool {
	for _, t := range g.Trajectories {
		if t.StopReason == StopError {
			return false
		}
	}
	return true
}

// Step is one decision of the policy and what the environment answered.
type Step struct {
	Index int `json:"index"` // 0-based position in Trajectory.Steps
	// MessageCount is how many messages the policy saw; the message that
	// carries the action is Trajectory.Messages[MessageCount].
	MessageCount int `json:"message_count"`
	// Anchor identifies the state for GiGPO's step groups; by default the
	// environment's own raw observation.
	Anchor    string   `json:"anchor,omitempty"`
	Available []string `json:"available,omitempty"` // actions or tools on offer; shared, not copied
	Action    Action   `json:"action"`
	RawOutput string   `json:"raw_output,omitempty"` // what the policy emitted before parsing

	LogProb       float64  `json:"log_prob"`         // of the action, nats, at sampling time
	Entropy       float64  `json:"entropy"`          // of the policy at this observation, nats
	Value         *float64 `json:"value,omitempty"`  // critic's estimate, if there is one
	Prompt        *Prompt  `json:"prompt,omitempty"` // what the model was given, if the policy reported it
	Tokens        []Token  `json:"tokens,omitempty"` // as sampled: never retokenize
	PolicyVersion uint64   `json:"policy_version"`   // number of learner updates of the policy that acted
	Policy        *Sampled `json:"-"`                // what a learner needs to recompute the distribution; nil for steps from files

	EnvReward   float64 `json:"env_reward"`
	Terminated  bool    `json:"terminated,omitempty"`
	Truncated   bool    `json:"truncated,omitempty"`
	ActionValid bool    `json:"action_valid"`
	// Held means that the answer named no action, so that the environment was not called.
	Held bool                       `json:"held,omitempty"`
	Info map[string]json.RawMessage `json:"info,omitempty"`

	Credit *Credit `json:"credit,omitempty"` // filled by alignment and the estimator
}

// Sampled is the numeric view of one decision of an embedded policy. It stays
// in memory: files hold the conversation, from which it can be made again.
type Sampled struct {
	Features []float32 // the observation tensor, flattened; shared with the rollout's arena
	Mask     []byte    // 1 = available, per action; nil = all
	LogitMax float32   // largest available logit: the shift that keeps exp finite in the learner
}

// Credit is what a step was found to be worth.
type Credit struct {
	BaseReward       float64 `json:"base_reward"`
	Return           float64 `json:"return"`            // discounted return to go, G
	EpisodeAdvantage float64 `json:"episode_advantage"` // A_E
	StepAdvantage    float64 `json:"step_advantage"`    // A_S
	Advantage        float64 `json:"advantage"`         // A
	AnchorGroup      int     `json:"anchor_group"`      // cluster number within the batch
	// Of tigpo: how many steps of earlier updates lead on from the state, and the anchor group of
	// the state that they lead to; nil = a success.
	KeptSteps int  `json:"kept_steps,omitempty"`
	KeptTo    *int `json:"kept_to,omitempty"`
}

// Action is what the policy chose. Kind is which of the other fields holds it.
type Action struct {
	Kind      ActionKind `json:"kind"`
	Choice    int        `json:"choice"`               // index into Spec.Actions, for choices
	Text      string     `json:"text,omitempty"`       // the action's name, or the text
	ToolCalls []ToolCall `json:"tool_calls,omitempty"` // for tool calls
}

// ActionKind is the form of an Action.
type ActionKind string

// The closed set of action kinds.
const (
	ActionChoice ActionKind = "choice"
	ActionText   ActionKind = "text"
	ActionTool   ActionKind = "tool"
)
