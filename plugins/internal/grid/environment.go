package grid

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/sdk/plugin"
)

// environment holds what its slots share.
type environment struct {
	options Options
	starts  []state
}

func newEnvironment(setup plugin.Setup, o Options) (plugin.Environment, error) {
	return &environment{options: o, starts: o.starts(setup.Split)}, nil
}

// Spec implements plugin.Environment.
func (e *environment) Spec() plugin.Spec {
	o := e.options
	return plugin.Spec{
		Actions:  o.Moves,
		MaxSteps: o.MaxSteps,
		System:   strings.ReplaceAll(o.Rules, "{moves}", strings.Join(o.Moves, ", ")),
		Tasks:    len(e.starts),
	}
}

// NewSlot implements plugin.Environment.
func (e *environment) NewSlot() (plugin.Slot, error) { return &slot{env: e}, nil }

// slot is one walk.
type slot struct {
	env *environment
	state
	steps int
}

var _ fmt.Stringer = (*slot)(nil)

// Reset implements plugin.Slot. Seeds come from a seed tree: well mixed.
func (s *slot) Reset(seed uint64, turn *plugin.Turn) error {
	s.state, s.steps = s.env.starts[seed%uint64(len(s.env.starts))], 0
	s.show(turn)
	return nil
}

// Step implements plugin.Slot. Every move is available. A move over the edge has no effect,
// costs a step and is marked as invalid.
func (s *slot) Step(action plugin.Action, turn *plugin.Turn) error {
	next := s.at.plus(compass[action.Index])
	if turn.InvalidAction = !next.within(s.env.options.Size); !turn.InvalidAction {
		s.at = next
	}
	s.steps++
	switch {
	case s.at == s.goal:
		turn.Reward, turn.Terminated = 1, true
	case s.steps == s.env.options.MaxSteps:
		turn.Truncated = true
	}
	s.show(turn)
	return nil
}

func (s *slot) show(turn *plugin.Turn) {
	turn.Anchor = append(turn.Anchor, s.state.String()...)
	turn.Text = append(turn.Text, s.text()...)
}

func (s *slot) text() string {
	o := s.env.options
	if s.at == s.goal {
		return o.Arrived
	}
	return strings.NewReplacer("{cell}", s.at.String(), "{goal}", s.goal.String(), "{way}", s.way(o.Directions)).Replace(o.Observe)
}

// String draws the board with the step count: @ is the player, . the goal.
func (s *slot) String() string {
	var b strings.Builder
	size := s.env.options.Size
	for row := size - 1; row >= 0; row-- {
		for column := range size {
			switch (cell{column, row}) {
			case s.at:
				b.WriteByte('@')
			case s.goal:
				b.WriteByte('.')
			default:
				b.WriteByte('-')
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "step %d of %d", s.steps, s.env.options.MaxSteps)
	return b.String()
}
