package frozenlake

import (
	"fmt"

	"github.com/merit-rl/merit/plugins/internal/frozenlake/internal/lake"
	"github.com/merit-rl/merit/plugins/internal/rows"
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

const system = `You cross a frozen lake from S to the goal G: @ you, F ice, H a hole in which the game is lost.
At the edge of the lake you stay where you are.`

const (
	firm     = " The ice is firm: you go where you want.\nAnswer with one word: left, down, right or up."
	slippery = " The ice is slippery: you go where you want one time in three, and else to one of the two sides, never back.\nAnswer with one word: left, down, right or up."
)

// environment holds what its slots share. They are called one after the other.
type environment struct {
	spec     plugin.Spec
	source   *source
	slippery bool
	fill     func(tensor []float32, shape []int, l *lake.Lake, player int)
}

func newEnvironment(setup plugin.Setup, o Options) (plugin.Environment, error) {
	e := &environment{source: newSource(o, setup.Split), slippery: o.Slippery, fill: fillEgo}
	rows, columns := e.source.sides()
	e.spec = plugin.Spec{
		Actions:      lake.Names(),
		FeatureShape: []int{3, 2*rows - 1, 2*columns - 1},
		MaxSteps:     o.MaxSteps,
		System:       system + firm,
	}
	if e.source.fixed != nil {
		e.spec.Tasks = 1
	}
	if o.Slippery {
		e.spec.System = system + slippery
	}
	if o.Features == "grid" {
		e.fill, e.spec.FeatureShape = fillGrid, []int{4, rows, columns}
	}
	return e, nil
}

// Spec implements plugin.Environment.
func (e *environment) Spec() plugin.Spec { return e.spec }

// NewSlot implements plugin.Environment.
func (e *environment) NewSlot() (plugin.Slot, error) { return &slot{env: e}, nil }

// Encode implements plugin.Encoder: the newest message shows the lake as a slot does, with
// any words before and after it.
func (e *environment) Encode(messages []string, _ string, turn *plugin.Turn) (int, error) {
	var l *lake.Lake
	var at int
	if !rows.Find(messages, lake.Shown, func(board []string) bool { l, at = lake.Read(board); return l != nil }) {
		return 0, turn.Refuse("the newest message shows no lake with the player on the ice")
	}
	if height, width := e.source.sides(); l.Rows > height || l.Columns > width {
		return 0, turn.Refuse("the lake is larger than those of the environment's options")
	}
	e.show(turn, l, at)
	return -1, nil
}

func (e *environment) show(turn *plugin.Turn, l *lake.Lake, at int) {
	turn.Anchor = l.Append(turn.Anchor, at)
	if turn.Features != nil {
		e.fill(turn.Features, e.spec.FeatureShape, l, at)
	}
}

// slot is one crossing.
type slot struct {
	env    *environment
	course *course
	at     int
	steps  int
	slips  random.Source
}

var _ fmt.Stringer = (*slot)(nil)

// Reset implements plugin.Slot. The seed determines the lake and, through a separate
// stream, the slips.
func (s *slot) Reset(seed uint64, turn *plugin.Turn) (err error) {
	if s.course, err = s.env.source.of(seed); err != nil {
		return err
	}
	s.at, s.steps, s.slips = s.course.Begin, 0, random.Source(random.Mix(seed))
	s.env.show(turn, s.course.Lake, s.at)
	return nil
}

// Step implements plugin.Slot. Every move is available. On firm ice, a move against the edge
// has no effect, costs a step and is marked as invalid. On slippery ice, it may
// still slip to a side.
func (s *slot) Step(action plugin.Action, turn *plugin.Turn) error {
	d := lake.Direction(action.Index)
	if s.env.slippery {
		d = d.Aim(s.slips.Below(lake.Outcomes))
	}
	to := s.course.Go(s.at, d)
	turn.InvalidAction = to == s.at && !s.env.slippery
	s.at = to
	s.steps++
	switch cell := s.course.Cells[to]; {
	case cell == lake.Goal:
		turn.Reward, turn.Terminated = 1, true
	case cell == lake.Hole:
		turn.Terminated = true
	case s.steps == s.env.spec.MaxSteps:
		turn.Truncated = true
	}
	if turn.Terminated || turn.Truncated {
		s.report(turn)
	}
	s.env.show(turn, s.course.Lake, s.at)
	return nil
}

// report adds the metrics of the crossing, and those of the best possible player.
func (s *slot) report(turn *plugin.Turn) {
	fell := 0.0
	if s.course.Cells[s.at] == lake.Hole {
		fell = 1
	}
	turn.Metric("fell", fell)
	turn.Metric("optimal_success", s.course.chance)
	if !s.env.slippery && turn.Reward > 0 {
		turn.Metric("optimality_gap", float64(s.steps)/float64(s.course.Shortest)-1)
	}
}

// String draws the lake and the step count.
func (s *slot) String() string {
	return fmt.Sprintf("%s\nstep %d of %d", s.course.Append(nil, s.at), s.steps, s.env.spec.MaxSteps)
}
