package jsonl

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Bad collects the lines of a file that cannot be used: all are counted, the
// first MaxBad are kept.
type Bad struct {
	Count int       `json:"count"`
	First []BadLine `json:"first"` // in the order of the file
	Unit  string    `json:"-"`     // line or row; empty is line

	one     *fault.Error // the first, as it came
	entries int          // calls of Add
}

// BadLine says what is wrong with a line.
type BadLine struct {
	Line    int    `json:"line"` // 1-based
	Problem string `json:"problem"`
}

// MaxBad is how many bad lines are kept, shownBad how many a message lists.
const (
	MaxBad   = 100
	shownBad = 20
)

// Add notes that line has the problem err, an error of Reader.Trajectory.
func (b *Bad) Add(line int, err error) { b.AddLine(Line{Number: line}, err) }

// AddLine is Add for a line as it was read: it may stand for several.
func (b *Bad) AddLine(l Line, err error) {
	b.Count += max(l.lost, 1)
	b.entries++
	if b.one == nil {
		b.one = fault.As(err)
	}
	if len(b.First) < MaxBad {
		problem := err.Error()
		if f := fault.As(err); f != nil {
			problem = strings.TrimPrefix(problem, f.Where+": ")
		}
		b.First = append(b.First, BadLine{l.Number, problem})
	}
}

// List names the first lines, each indented on a line of its own, and says how
// many more there are.
func (b *Bad) List() string {
	var text strings.Builder
	for i, l := range b.First {
		if i == shownBad {
			break
		}
		fmt.Fprintf(&text, "\n  %s %d: %s", cmp.Or(b.Unit, unitLine), l.Line, l.Problem)
	}
	if more := b.entries - min(len(b.First), shownBad); more > 0 {
		fmt.Fprintf(&text, "\n  and %d more", more)
	}
	return text.String()
}

// Err returns nil without a bad line and otherwise a *BadError: what is wrong
// with the only one, or a list.
func (b *Bad) Err(file string) error {
	switch {
	case b.Count == 0:
		return nil
	case b.entries == 1 && b.one != nil:
		return &BadError{b.one}
	}
	f := &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: file,
		What: fmt.Sprintf("%d %ss cannot be used:%s", b.Count, cmp.Or(b.Unit, unitLine), b.List()), Hint: "correct these lines",
	}
	if b.one != nil {
		f.Hint = cmp.Or(b.one.Hint, f.Hint)
	}
	return &BadError{f}
}

// BadError says that a file has lines that cannot be used, which a reader may
// choose to omit.
type BadError struct{ Err error }

// Error lists the lines.
func (e *BadError) Error() string { return e.Err.Error() }

// Unwrap returns the *fault.Error behind e.
func (e *BadError) Unwrap() error { return e.Err }
