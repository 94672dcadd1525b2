package live

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// Options says where a view is drawn, and the limits of the run.
type Options struct {
	Out   io.Writer
	Size  func() (columns, rows int) // current size; 0 if unknown
	Style terminal.Style
	Now   func() time.Time
	Total int // maximum iterations
	Steps int // maximum environment steps; 0 is unlimited
}

// View is a train.Reporter that draws what is reported to it. Text written to it scrolls by
// above the frame.
type View struct {
	*Screen
	options Options
	start   time.Time

	mu    sync.Mutex
	state State
}

// NewView starts to draw. Close stops it and leaves the last frame.
func NewView(o Options) *View {
	v := &View{options: o, start: o.Now(), state: State{Total: o.Total, Steps: o.Steps}}
	v.Screen = NewScreen(o.Out, o.Size, v.lines)
	return v
}

func (v *View) lines(columns, rows int) []Line {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Elapsed = v.options.Now().Sub(v.start)
	return Frame(v.state, columns, rows, v.options.Style)
}

// change changes the state and redraws.
func (v *View) change(f func(*State)) {
	v.mu.Lock()
	f(&v.state)
	v.mu.Unlock()
	v.Refresh()
}

// Began receives the history of a resumed run.
func (v *View) Began(history []run.Iteration, total int) {
	v.change(func(s *State) { s.History, s.Total = slices.Clone(history), total })
}

// Collecting receives the progress of a collection or evaluation.
func (v *View) Collecting(what string, done, total int) {
	v.change(func(s *State) {
		s.What, s.Done, s.Planned = what, done, total
		s.Final = what != train.SplitTrain && what != train.SplitValidation
	})
}

// Evaluated does nothing: a validation is drawn with its iteration.
func (v *View) Evaluated(string, run.Score) {}

// Iterated receives an iteration.
func (v *View) Iterated(it run.Iteration, total int) {
	v.change(func(s *State) { s.History, s.Total, s.What = append(s.History, it), total, "" })
}

// Close draws the final state of the run.
func (v *View) Close() {
	v.mu.Lock()
	v.state.Over = true
	v.mu.Unlock()
	v.Screen.Close()
}
