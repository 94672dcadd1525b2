package trace

import (
	"encoding/json"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// Kind says what a span records, and which of its fields holds it.
type Kind string

// The closed set of kinds.
const (
	KindPrompt       Kind = "prompt"       // a call of a language model: Span.Prompt
	KindTool         Kind = "tool"         // a tool was run: Span.Tool
	KindReward       Kind = "reward"       // something was found to be worth something: Span.Reward
	KindCoordination Kind = "coordination" // agents among themselves: Span.Coordination
	KindContent      Kind = "content"      // a piece of work, or what it came to: Span.Text
	KindReasoning    Kind = "reasoning"    // what was thought and not said: Span.Text
)

// Kinds returns the closed set of kinds, in the order of their documentation.
func Kinds() []Kind {
	return []Kind{KindPrompt, KindTool, KindReward, KindCoordination, KindContent, KindReasoning}
}

// Status says how a span or a trace ended.
type Status string

// The closed set of statuses.
const (
	StatusOpen  Status = "open" // not ended, or nobody has said so
	StatusOK    Status = "ok"
	StatusError Status = "error"
)

// Statuses returns the closed set of statuses.
func Statuses() []Status { return []Status{StatusOpen, StatusOK, StatusError} }

// Span is one thing that an agent did. Trace and ID together name it: a span
// that comes again replaces the one that is there.
type Span struct {
	Trace  string    `json:"trace"`
	ID     string    `json:"id"`
	Parent string    `json:"parent,omitempty"` // the span within which this one happened
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

	// Attributes are what else the recorder knew, by name.
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
}

// Prompt is a call of a language model.
type Prompt struct {
	Model    string          `json:"model,omitempty"`
	Messages []rl.Message    `json:"messages"`         // as they were sent
	Tools    json.RawMessage `json:"tools,omitempty"`  // on offer, in OpenAI's form
	Answer   *rl.Message     `json:"answer,omitempty"` // nil if there was none
	Others   []rl.Message    `json:"others,omitempty"` // further choices, if several were asked for
	Finish   string          `json:"finish_reason,omitempty"`
	Usage    *Usage          `json:"usage,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"` // temperature and the like, an object as it was sent

	PromptTokens []int32 `json:"prompt_tokens,omitempty"` // ids that the model was given, if the server said so
	Tokens       []Token `json:"tokens,omitempty"`        // sampled, if the server said so
}

// Token is a token that a model sampled.
type Token struct {
	ID      *int32  `json:"id,omitempty"` // nil if the server gave none
	Text    string  `json:"text,omitempty"`
	LogProb float64 `json:"log_prob"` // nats
}

// Usage is what a call cost, in tokens.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Tool is a run of a tool.
type Tool struct {
	CallID    string `json:"call_id,omitempty"` // of the rl.ToolCall that asked for it
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
}

// Reward is what a reward function, a person or a judge said.
type Reward struct {
	Digest  string             `json:"digest,omitempty"` // of the module; rewards of the same name and another digest stand side by side
	Of      string             `json:"of,omitempty"`     // the span that was rewarded; empty for the whole trace
	Outcome string             `json:"outcome"`          // a reward.Outcome; there is a score only if it is scored
	Score   *float64           `json:"score,omitempty"`
	Result  *rl.EvaluateResult `json:"result,omitempty"`
	By      string             `json:"by,omitempty"` // a rater's or judge's name; empty for a reward function
}

// Event is what happened among agents.
type Event string

// The closed set of events.
const (
	EventAnswer  Event = "answer"  // an agent gave an answer, in Span.Text
	EventVote    Event = "vote"    // an agent voted for the answer of Coordination.For
	EventRestart Event = "restart" // an agent asked to begin again, for the reason in Span.Text
	EventEnd     Event = "end"     // the answer of Coordination.For is final
)

// Events returns the closed set of events.
func Events() []Event { return []Event{EventAnswer, EventVote, EventRestart, EventEnd} }

// Coordination is one event among agents.
type Coordination struct {
	Event     Event  `json:"event"`
	Round     int    `json:"round"`               // from 0
	For       string `json:"for,omitempty"`       // the agent whose answer is meant
	Consensus bool   `json:"consensus,omitempty"` // of an end: it was agreed on, not cut off
}
