// Package reply holds the replies that an attack tries: lists of pieces, of which some stand for
// what differs from task to task, such as the prompt, the right answer or a wrong one. One reply can
// so be tried on every task, and it shows whether it knows the right answer.
package reply

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
)

// Kind says what a piece stands for.
type Kind string

// The kinds of pieces.
const (
	Literal Kind = ""       // its own text
	Prompt  Kind = "prompt" // the texts of the prompt
	All     Kind = "all"    // the answers of all tasks, in Text, which has one %s for each
	Entry   Kind = "entry"  // the name of the function or tool that the prompt or the tests name

	// These know the right answer of the task.
	Wrong  Kind = "wrong"  // a wrong answer of the kind of the right one; N chooses it
	Other  Kind = "other"  // the answer of another task; N chooses the task
	Right  Kind = "right"  // the right answer
	Start  Kind = "start"  // a beginning of it that is wrong
	End    Kind = "end"    // an end of it that is wrong
	Hull   Kind = "hull"   // a longer answer that contains it; N chooses one
	Flip   Kind = "flip"   // the right number with another sign, or with a point in it; N chooses it
	Denied Kind = "denied" // the right answer, a statement, denied
	Mixed  Kind = "mixed"  // its words in the order of the alphabet
	Near   Kind = "near"   // a number that is not far from the right one; N chooses it
	Calls  Kind = "calls"  // the right tool calls or the right object; Text is one of the Shapes, N one of the Damages
)

// Damages of the piece Calls.
const (
	Intact   = iota
	Nonsense // every value is nonsense
	Bare     // no values
)

// Piece is a part of a reply.
type Piece struct {
	Kind Kind   `json:"kind,omitempty"`
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
	// Times is how often it stands there; 0 is once.
	Times int `json:"times,omitempty"`
}

// Reply is a reply to try. It is not changed after it was made.
type Reply []Piece

// Text makes a reply of a text.
func Text(text string) Reply { return Reply{{Text: text}} }

// In returns a form, such as <answer>%s</answer>, around pieces.
func In(form string, pieces ...Piece) Reply {
	before, after, _ := strings.Cut(form, "%s")
	r := Reply{}
	if before != "" {
		r = append(r, Piece{Text: before})
	}
	r = append(r, pieces...)
	if after != "" {
		r = append(r, Piece{Text: after})
	}
	return r
}

// Join returns one reply after the other.
func Join(parts ...Reply) (all Reply) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// Knows reports whether the reply depends on the right answer of its task, also by avoiding it.
func (r Reply) Knows() bool {
	return slices.ContainsFunc(r, func(p Piece) bool {
		return slices.Contains([]Kind{Right, Start, End, Hull, Flip, Denied, Mixed, Near, Wrong, Other, Calls}, p.Kind)
	})
}

// Has reports whether the reply has a piece of a kind.
func (r Reply) Has(k Kind) bool {
	return slices.ContainsFunc(r, func(p Piece) bool { return p.Kind == k })
}

// Fixed reports whether the reply is the same text for every task.
func (r Reply) Fixed() bool {
	return !slices.ContainsFunc(r, func(p Piece) bool { return p.Kind != Literal && p.Kind != All })
}

// Key identifies the reply.
func (r Reply) Key() string { return fmt.Sprint([]Piece(r)) }

// World is what pieces stand for beside one task.
type World struct {
	Prompt  string
	Entry   string
	Right   string
	Start   string
	End     string
	Hull    []string
	Flip    []string
	Denied  string
	Mixed   string
	Near    []string
	Wrong   []string
	Others  []string // the answers of the other tasks
	All     []string // the answers of all tasks, in one order for all of them
	Object  *Object  // the right tool call or object; nil if there is none
	MaxText int      // how many bytes a reply may have
}

// Said is a reply to one task: a text, and tool calls.
type Said struct {
	Text  string
	Calls []rl.ToolCall
}

// Say returns the reply to a task. Ok is false if a piece stands for nothing there, or if the reply is
// too long.
func (r Reply) Say(w *World) (said Said, ok bool) {
	var b strings.Builder
	for _, p := range r {
		text, calls, ok := p.say(w)
		if !ok {
			return Said{}, false
		}
		said.Calls = append(said.Calls, calls...)
		times := max(p.Times, 1)
		if b.Len()+times*len(text) > w.MaxText {
			return Said{}, false
		}
		for range times {
			b.WriteString(text)
		}
	}
	said.Text = b.String()
	return said, utf8.ValidString(said.Text)
}

func (p Piece) say(w *World) (text string, calls []rl.ToolCall, ok bool) {
	pick := func(list []string) (string, []rl.ToolCall, bool) {
		if len(list) == 0 {
			return "", nil, false
		}
		return list[p.N%len(list)], nil, true
	}
	one := func(text string) (string, []rl.ToolCall, bool) { return text, nil, text != "" }
	switch p.Kind {
	case Prompt:
		return one(w.Prompt)
	case Entry:
		return one(w.Entry)
	case Right:
		return one(w.Right)
	case Start:
		return one(w.Start)
	case End:
		return one(w.End)
	case Hull:
		return pick(w.Hull)
	case Flip:
		return pick(w.Flip)
	case Denied:
		return one(w.Denied)
	case Mixed:
		return one(w.Mixed)
	case Near:
		return pick(w.Near)
	case Wrong:
		return pick(w.Wrong)
	case Other:
		return pick(w.Others)
	case All:
		return one(w.all(p.Text))
	case Calls:
		if w.Object == nil {
			return "", nil, false
		}
		text, calls = w.Object.In(p.Text, p.N)
		return text, calls, true
	}
	return p.Text, nil, true
}

func (w *World) all(form string) string {
	var b strings.Builder
	for _, answer := range w.All {
		b.WriteString(strings.ReplaceAll(form, "%s", answer))
	}
	return b.String()
}
