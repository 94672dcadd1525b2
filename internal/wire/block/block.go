// Package block defines how a module that is an environment and its host exchange
// turns: the functions that the module exports, and the blocks of memory that they
// return. docs/environment-modules.md has the same tables for authors. Everything is
// little-endian; a pointer is an offset into the module's memory.
package block

// What an environment module exports, besides its memory.
const (
	Mark      = "merit_environment_1" // () → (): the version of this layout
	Alloc     = "merit_alloc"         // (size) → pointer, for what the host writes; a multiple of 8
	Describe  = "merit_describe"      // () → *Answer with a Description
	Configure = "merit_configure"     // (pointer, size of a Setup) → *Answer with a Spec
	Reset     = "merit_reset"         // (seed i64, want) → *Turn
	Step      = "merit_step"          // (action, pointer, size of the text, want) → *Turn
	Render    = "merit_render"        // optional: () → *Answer with a picture
	Encode    = "merit_encode"        // if the Spec says encodes: (pointer, size of a Call) → *Answer with an Encoding
)

// Span is a piece of the module's memory. A pointer of 0 has no bytes.
type Span struct{ At, Size uint32 }

// Answer is the result of Describe, Configure, Render and Encode.
type Answer struct {
	Failed uint32 // 1: Text is a JSON list of Problem, or the text of one
	Text   Span
}

// Turn is the result of Reset and Step. Features are float32, and Mask is a byte for
// each action; without Mask, all actions are available. Events are so many of Event.
// Without Text, the anchor is the text.
type Turn struct {
	Reward                               float64
	Flags                                uint32 // the bits of env.Flag
	Shown                                uint32 // 1: a Text without bytes is not the anchor
	Anchor, Text, Features, Mask, Events Span   // the size of Events is their number
}

// Event is what a slot reports besides its columns.
type Event struct {
	Kind          uint32 // an index into Kinds
	Name, Message Span
}

// The sizes of the blocks in bytes.
const (
	AnswerSize = 12
	TurnSize   = 56
	EventSize  = 20
)

// Kinds lists the kinds of events by their number.
var Kinds = []string{"error", "tool_result", "info", "metric", "task"}

// Description is the JSON that describes a module before it is configured.
type Description struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Summary string `json:"summary"`
	Options any    `json:"options,omitempty"` // every option with its default
}

// Setup is what Configure receives, in JSON.
type Setup struct {
	Split   string `json:"split"`
	Options any    `json:"options"`
}

// Spec is what Configure answers, in JSON.
type Spec struct {
	Actions      []string `json:"actions,omitempty"`
	FeatureShape []uint32 `json:"feature_shape,omitempty"`
	MaxSteps     uint32   `json:"max_steps,omitempty"`
	System       string   `json:"system,omitempty"`
	Tools        any      `json:"tools,omitempty"`
	Tasks        uint32   `json:"tasks,omitempty"`
	Encodes      bool     `json:"encodes,omitempty"`
}

// Call is what Encode receives, in JSON: a recorded call of a language model.
type Call struct {
	Messages []string `json:"messages"` // the texts of its input, the newest last
	Answer   string   `json:"answer"`
}

// Encoding is what Encode answers, in JSON: what a policy would have seen at the call, and the
// action in the answer, or −1 if the host is to look for the name of an action in it.
type Encoding struct {
	Action   int       `json:"action"`
	Anchor   string    `json:"anchor"`
	Features []float32 `json:"features"`
	Mask     []uint32  `json:"mask,omitempty"` // 0 or 1 for each action; all 1 without it
}

// Problem is an error of Configure, in JSON. Its fields are those of fault.Error.
type Problem struct {
	Boundary string `json:"boundary,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Where    string `json:"where,omitempty"`
	What     string `json:"what"`
	Hint     string `json:"hint,omitempty"`
}
