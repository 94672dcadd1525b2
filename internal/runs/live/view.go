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

// Options say where a view is drawn, and what the run may come to.
type Options struct {
	Out   io.Writer
	Size  func() (columns, rows int) // now; 0 if unknown
	Style terminal.Style
	Now   func() time.Time
	Total int // most iterations
	Steps int // most environment steps; 0 is no limit
}

// View is a train.Reporter that draws what it is told. What is written to it
// scrolls by above the picture.
type View struct {
	*Screen
	options Options
	start   time.Time

	mu    sync.Mutex
	state State
}

// NewView begins to draw. Close ends it and leaves the last picture.
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

// change changes the state and draws it.
func (v *View) change(f func(*State)) {
	v.mu.Lock()
	f(&v.state)
	v.mu.Unlock()
	v.Refresh()
}

// Began takes what is behind a resumed run.
func (v *View) Began(history []run.Iteration, total int) {
	v.change(func(s *State) { s.History, s.Total = slices.Clone(history), total })
}

// Collecting takes how far a collection or evaluation is.
func (v *View) Collecting(what string, done, total int) {
	v.change(func(s *State) {
		s.What, s.Done, s.Planned = what, done, total
		s.Final = what != train.SplitTrain && what != train.SplitValidation
	})
}

// Evaluated does nothing: a validation is drawn with its iteration.
func (v *View) Evaluated(string, run.Score) {}

// Iterated takes an iteration.
func (v *View) Iterated(it run.Iteration, total int) {
	v.change(func(s *State) { s.History, s.Total, s.What = append(s.History, it), total, "" })
}

// Close draws the run as it ended.
func (v *View) Close() {
	v.mu.Lock()
	v.state.Over = true
	v.mu.Unlock()
	v.Screen.Close()
}
