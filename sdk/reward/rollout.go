package reward

import "iter"

// Rollout is one trajectory to score: a conversation, the data of its task, and the
// steps that the environment recorded. Do not keep references to it after the
// function returns.
type Rollout struct {
	ID          string
	Group       string
	Task        string
	Messages    []Message
	GroundTruth Value
	Metadata    []Field // sorted by key
	Steps       []Step  // empty if there was no environment
	StopReason  StopReason
	// PromptMessages is how many messages belong to the prompt, or −1 if that is
	// unknown. PromptText and CompletionText mean that the data had a text there, not
	// a list of messages.
	PromptMessages int
	PromptText     bool
	CompletionText bool
}

// Roles of a message. Other roles may occur.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// Message is one turn of the conversation.
type Message struct {
	Role       string
	Content    string // if it is a list of parts: the text parts, joined
	Name       string
	ToolCallID string
	ToolCalls  []ToolCall
	Null       bool   // the content was null
	Parts      string // JSON of the list of parts, or empty
	// Fields are the other fields of the message, such as reasoning_content. The
	// field as_given is an object with the original form of fields that Merit
	// normalized: a role with another spelling, tool calls with another shape.
	Fields []Field
}

// Field returns a field of the message; its kind is Absent if there is none.
func (m *Message) Field(key string) Value {
	for i := range m.Fields {
		if m.Fields[i].Key == key {
			return m.Fields[i].Value
		}
	}
	return Value{}
}

// ToolCall is the assistant's request to run a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as the model wrote it, valid or not
	Type      string
}

// Step is one decision, as the environment recorded it.
type Step struct {
	Message     int // index in Messages of the message with the action, or −1
	Action      string
	ActionKind  ActionKind
	Choice      int // index of the action, for choices
	ActionValid bool
	Reward      float64 // the environment's own reward
	Terminated  bool
	Truncated   bool
	Anchor      string // the raw state before the action
	ToolCalls   int    // number of tool calls of the action; the message has them
}

// ActionKind is the form of an action.
type ActionKind int

// The action kinds.
const (
	ActionNone ActionKind = iota
	ActionChoice
	ActionText
	ActionTool
)

// StopReason is the reason why the episode ended.
type StopReason int

// The stop reasons.
const (
	StopNone StopReason = iota
	StopTerminated
	StopTruncated
	StopPolicyEnded
	StopPattern
	StopError
)

// Field is one entry of the metadata.
type Field struct {
	Key   string
	Value Value
}

// Kind is the JSON type of a Value.
type Kind int

// The kinds. JSON is a list, an object, or a number too large for a float64.
const (
	Absent Kind = iota
	String
	Number
	Bool
	Null
	JSON
)

// Value is any JSON value; no parser is needed for the simple ones.
type Value struct {
	Kind   Kind
	JSON   string  // the JSON text, unchanged
	Text   string  // the text of a string; for other kinds the same as JSON
	Number float64 // the value of a number
	Bool   bool
}

// StringValue returns the Value of a string, for tests.
func StringValue(s string) Value { return Value{Kind: String, JSON: s, Text: s} }

// Meta returns the metadata under key. Its kind is Absent if there is none.
func (r *Rollout) Meta(key string) Value {
	for i := range r.Metadata {
		if r.Metadata[i].Key == key {
			return r.Metadata[i].Value
		}
	}
	return Value{}
}

// Answer returns the content of the last assistant message, or "".
func (r *Rollout) Answer() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == Assistant {
			return r.Messages[i].Content
		}
	}
	return ""
}

// Assistants yields the assistant messages after the prompt with their step index,
// which Result.Steps and Output.Step use.
func (r *Rollout) Assistants() iter.Seq2[int, *Message] {
	return func(yield func(int, *Message) bool) {
		step := 0
		for i := max(r.PromptMessages, 0); i < len(r.Messages); i++ {
			if r.Messages[i].Role != Assistant {
				continue
			}
			if !yield(step, &r.Messages[i]) {
				return
			}
			step++
		}
	}
}
