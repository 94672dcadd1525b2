package trace

import (
	"encoding/json"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// Kind is what a span records, and determines which of its fields is set.
type Kind string

// The kinds.
const (
	KindPrompt       Kind = "prompt"       // a call of a language model: Span.Prompt
	KindTool         Kind = "tool"         // a run of a tool: Span.Tool
	KindReward       Kind = "reward"       // a reward for a span or a trace: Span.Reward
	KindCoordination Kind = "coordination" // an event among agents: Span.Coordination
	KindContent      Kind = "content"      // a piece of work, or its result: Span.Text
	KindReasoning    Kind = "reasoning"    // reasoning that is not part of the answer: Span.Text
)

// Kinds returns all kinds, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{KindPrompt, KindTool, KindReward, KindCoordination, KindContent, KindReasoning}
}

// Status is how a span or a trace ended.
type Status string

// The statuses.
const (
	StatusOpen  Status = "open" // not ended, or not reported
	StatusOK    Status = "ok"
	StatusError Status = "error"
)

// Statuses returns all statuses.
func Statuses() []Status { return []Status{StatusOpen, StatusOK, StatusError} }

// Span is one action of an agent. Trace and ID together identify it: a span with the
// same ids replaces the stored one.
type Span struct {
	Trace  string    `json:"trace"`
	ID     string    `json:"id"`
	Parent string    `json:"parent,omitempty"` // the span that encloses this one
	Agent  string    `json:"agent,omitempty"`
	Kind   Kind      `json:"kind"`
	Name   string    `json:"name"` // of the model, tool, reward, event or piece of work
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Status Status    `json:"status"`
	Error  string    `json:"error,omitempty"`

	Prompt       *Prompt       `json:"prompt,omitempty"`
	Tool         *Tool         `json:"tool,omitempty"`
	Reward       *Reward       `json:"reward,omitempty"`
	Coordination *Coordination `json:"coordination,omitempty"`
	Text         string        `json:"text,omitempty"`

	// Attributes are additional values from the recorder, by name.
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
}

// Prompt is a call of a language model.
type Prompt struct {
	Model    string          `json:"model,omitempty"`
	Messages []rl.Message    `json:"messages"`         // as they were sent
	Tools    json.RawMessage `json:"tools,omitempty"`  // offered tools, in OpenAI's form
	Answer   *rl.Message     `json:"answer,omitempty"` // nil if there was none
	Others   []rl.Message    `json:"others,omitempty"` // further choices, if the call requested several
	Finish   string          `json:"finish_reason,omitempty"`
	Usage    *Usage          `json:"usage,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"` // temperature and so on: an object as it was sent

	PromptTokens []int32 `json:"prompt_tokens,omitempty"` // ids of the model's input, if the server returned them
	Tokens       []Token `json:"tokens,omitempty"`        // sampled tokens, if the server returned them
}

// Token is a token that a model sampled.
type Token struct {
	ID      *int32  `json:"id,omitempty"` // nil if the server returned none
	Text    string  `json:"text,omitempty"`
	LogProb float64 `json:"log_prob"` // nats
}

// Usage is the cost of a call in tokens.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Tool is a run of a tool.
type Tool struct {
	CallID    string `json:"call_id,omitempty"` // id of the rl.ToolCall that requested it
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
}

// Reward is the result of a reward function, a person or a judge.
type Reward struct {
	Digest  string             `json:"digest,omitempty"` // of the module; rewards with the same name and different digests coexist
	Of      string             `json:"of,omitempty"`     // the span that was rewarded; empty for the whole trace
	Outcome string             `json:"outcome"`          // a reward.Outcome; there is a score only if it is scored
	Score   *float64           `json:"score,omitempty"`
	Result  *rl.EvaluateResult `json:"result,omitempty"`
	By      string             `json:"by,omitempty"` // a rater's or judge's name; empty for a reward function
}

// Event is a kind of event among agents.
type Event string

// The events.
const (
	EventAnswer  Event = "answer"  // an agent gave an answer, in Span.Text
	EventVote    Event = "vote"    // an agent voted for the answer of Coordination.For
	EventRestart Event = "restart" // an agent asked to restart, for the reason in Span.Text
	EventEnd     Event = "end"     // the answer of Coordination.For is final
)

// Events returns all events.
func Events() []Event { return []Event{EventAnswer, EventVote, EventRestart, EventEnd} }

// Coordination is one event among agents.
type Coordination struct {
	Event     Event  `json:"event"`
	Round     int    `json:"round"`               // from 0
	For       string `json:"for,omitempty"`       // the agent whose answer is meant
	Consensus bool   `json:"consensus,omitempty"` // for an end: the agents agreed, and were not cut off
}
