package dialect

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Answer is what a server answered to a call, assembled from one body or from the events
// of a stream.
type Answer struct {
	ID, Model string
	Choices   []Choice // by index
	Usage     *trace.Usage
	Prompt    []int32  // ids of the tokens of the prompt, if the server returned them
	Failure   string   // the server's message
	Broken    string   // why the answer could not be read whole, if so
	Problems  []string // that do not make the call a failure

	Attributes map[string]json.RawMessage // what has no other place, such as the tokens read from a cache
	Unknown    Unknown
}

// Unknown counts parts of messages of types that Merit does not know, by type. They are
// kept as they came.
type Unknown map[string]int

// mostUnknown is the maximum number of types, because they are untrusted.
const mostUnknown = 16

// Add counts a part of a type, unless the type is known.
func (u *Unknown) Add(kind string, known map[string]bool) {
	if known[kind] {
		return
	}
	if *u == nil {
		*u = Unknown{}
	}
	if _, there := (*u)[kind]; !there && len(*u) >= mostUnknown {
		kind = "others"
	}
	(*u)[kind]++
}

// Note adds an attribute; a later value replaces an earlier one.
func (a *Answer) Note(name string, value json.RawMessage) {
	if a.Attributes == nil {
		a.Attributes = map[string]json.RawMessage{}
	}
	a.Attributes[name] = value
}

// Choice is one choice of an answer.
type Choice struct {
	Index          int
	Role, Finish   string
	Text, Thoughts []byte
	Refusal        []byte          // part of Text
	Null           bool            // the content was null
	Parts          json.RawMessage // of a message whose content is a list
	Calls          []rl.ToolCall
	Fields         []rl.Field // other fields of the message
	Tokens         []int32
	Probs          []Probability
}

// MostChoices is the maximum number of choices, because the index is untrusted.
const MostChoices = 1024

// Choice returns the choice with an index, which is new if there was none; nil beyond
// MostChoices.
func (a *Answer) Choice(index int) *Choice {
	i, there := slices.BinarySearchFunc(a.Choices, index, func(s Choice, i int) int { return cmp.Compare(s.Index, i) })
	if !there {
		if len(a.Choices) >= MostChoices {
			return nil
		}
		a.Choices = slices.Insert(a.Choices, i, Choice{Index: index})
	}
	return &a.Choices[i]
}

// Message returns the choice as a message of the conversation.
func (s *Choice) Message() rl.Message {
	m := rl.Message{Role: cmp.Or(s.Role, rl.RoleAssistant), Content: rl.Text(string(s.Text)), ToolCalls: s.Calls}
	if s.Null && len(s.Text) == 0 {
		_ = m.Content.UnmarshalJSON([]byte("null")) // only calls of tools, or nothing
	}
	if s.Parts != nil {
		_ = m.Content.UnmarshalJSON(s.Parts) // it was valid before
	}
	if s.Fields != nil {
		m.More = &rl.More{Fields: s.Fields}
	}
	return m
}

// ErrorText returns the message of an error in any of the forms that servers use.
func ErrorText(raw json.RawMessage) string {
	var text string
	var object struct {
		Message string `json:"message"`
	}
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case strictjson.Unmarshal(raw, &text) == nil:
		return text
	case strictjson.Unmarshal(raw, &object) == nil && object.Message != "":
		return object.Message
	}
	return string(raw)
}
