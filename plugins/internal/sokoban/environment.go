package sokoban

import (
	"fmt"

	"github.com/merit-rl/merit/plugins/internal/rows"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/observe"
	"github.com/merit-rl/merit/sdk/plugin"
)

const system = `You play Sokoban: push every box onto a target.
# wall, @ you, + you on a target, $ box, * box on a target, . target, space floor.
You push a box by walking into it; you cannot pull, nor push two boxes at once.
Answer with one word: up, down, left or right.`

// remembered is the number of recent levels that are kept, because the members of a group
// use the same one.
const remembered = 1024

// environment holds what its slots share: levels by seed. Calls of slots are serialized.
// A kept level equals the one that would be drawn again.
type environment struct {
	spec   plugin.Spec
	source source
	view   observe.View
	levels map[uint64]*level
	kept   []kept // of levels, a ring with the memory of all: in a module, each allocation dirties pages
	turn   int
}

// kept is a level and the seed that it is kept for.
type kept struct {
	seed uint64
	level
}

func newEnvironment(setup plugin.Setup, o Options) (plugin.Environment, error) {
	src, err := newSource(o, setup.Split)
	if err != nil {
		return nil, err
	}
	e := &environment{source: src, levels: make(map[uint64]*level, remembered), kept: make([]kept, remembered)}
	height, width := src.Sides()
	cells := make([]byte, remembered*height*(width+1))
	for i := range e.kept {
		e.kept[i].Use(cells[i*height*(width+1) : (i+1)*height*(width+1)])
	}
	for _, v := range observe.Views() {
		if v.Name == o.Features {
			e.view = v
		}
	}
	e.spec = plugin.Spec{
		Actions:      board.Names(),
		FeatureShape: e.view.Shape(src.Sides()),
		MaxSteps:     o.MaxSteps,
		System:       system,
		Tasks:        src.Tasks(),
	}
	return e, nil
}

// Spec implements plugin.Environment.
func (e *environment) Spec() plugin.Spec { return e.spec }

// NewSlot implements plugin.Environment.
func (e *environment) NewSlot() (plugin.Slot, error) { return &slot{env: e}, nil }

// level returns the level of a seed; read only.
func (e *environment) level(seed uint64) (*level, error) {
	if l, ok := e.levels[seed]; ok {
		return l, nil
	}
	k := &e.kept[e.turn]
	if e.levels[k.seed] == &k.level {
		delete(e.levels, k.seed)
	}
	l, err := e.source.Level(seed, &k.level)
	if err != nil {
		return nil, err
	}
	if l == &k.level {
		k.seed, e.turn = seed, (e.turn+1)%remembered
		e.levels[seed] = l
	}
	return l, nil
}

// Encode implements plugin.Encoder: the newest message shows the board as a slot does, with
// any words before and after it.
func (e *environment) Encode(messages []string, _ string, turn *plugin.Turn) (int, error) {
	var b *board.Board
	if !rows.Find(messages, board.Shown, func(lines []string) bool { b, _ = board.Parse(lines); return b != nil }) {
		return 0, turn.Refuse("the newest message shows no unsolved board")
	}
	if height, width := e.source.Sides(); b.Height() > height || b.Width() > width {
		return 0, turn.Refuse("the board is larger than those of the environment's options")
	}
	var cells observe.Cells
	e.view.Load(&cells, e.spec.FeatureShape, b)
	e.show(turn, b, &cells)
	return -1, nil
}

func (e *environment) show(turn *plugin.Turn, b *board.Board, cells *observe.Cells) {
	turn.Anchor = append(turn.Anchor, b.Text()...)
	if turn.Features != nil {
		e.view.Fill(turn.Features, e.spec.FeatureShape, b, cells)
	}
}

// slot is one game.
type slot struct {
	env     *environment
	board   board.Board
	cells   observe.Cells // of the level
	optimum int           // as in level
	steps   int
}

var _ fmt.Stringer = (*slot)(nil)

// Reset implements plugin.Slot.
func (s *slot) Reset(seed uint64, turn *plugin.Turn) error {
	level, err := s.env.level(seed)
	if err != nil {
		return err
	}
	s.board.Set(&level.Board)
	s.env.view.Load(&s.cells, s.env.spec.FeatureShape, &s.board)
	s.optimum, s.steps = level.optimum, 0
	s.env.show(turn, &s.board, &s.cells)
	return nil
}

// Step implements plugin.Slot. Every move is available. A move without an effect costs a
// step and is marked as invalid.
func (s *slot) Step(action plugin.Action, turn *plugin.Turn) error {
	turn.InvalidAction = !s.board.Move(board.Direction(action.Index))
	s.steps++
	switch {
	case s.board.Solved():
		turn.Reward, turn.Terminated = 1, true
	case s.steps == s.env.spec.MaxSteps:
		turn.Truncated = true
	}
	if turn.Terminated || turn.Truncated {
		s.report(turn)
	}
	s.env.show(turn, &s.board, &s.cells)
	return nil
}

// report adds the metrics: whether the level is solved and, if the shortest solution is
// known, by what share this one is longer.
func (s *slot) report(turn *plugin.Turn) {
	if !s.board.Solved() {
		turn.Metric("solved", 0)
		return
	}
	turn.Metric("solved", 1)
	if s.optimum > 0 {
		turn.Metric("optimality_gap", float64(s.steps)/float64(s.optimum)-1)
	}
}

// String draws the board and the step count.
func (s *slot) String() string {
	return fmt.Sprintf("%s\nstep %d of %d", s.board.Text(), s.steps, s.env.spec.MaxSteps)
}
