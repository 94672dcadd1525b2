package tiles

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/merit-rl/merit/plugins/internal/2048/internal/grid"
	"github.com/merit-rl/merit/plugins/internal/rows"
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

const system = `You play 2048: a move slides all tiles to one side, and two equal tiles that meet become one of twice the number.
Then a new tile, 2 or 4, appears in an empty cell. A point stands for an empty cell. A move that changes nothing is not allowed.
Join as much as you can before the board is full.
Answer with one word: up, down, left or right.`

// environment holds what its slots share.
type environment struct {
	options Options
	spec    plugin.Spec
	tables  *grid.Tables
	dealer  dealer
	goal    int // as an exponent; above every tile if the game has no goal
}

func newEnvironment(setup plugin.Setup, o Options) (plugin.Environment, error) {
	e := &environment{
		options: o, tables: grid.NewTables(), dealer: o.deal(setup.Split), goal: grid.Most + 1,
		spec: plugin.Spec{Actions: grid.Names(), FeatureShape: []int{o.Planes, 4, 4}, MaxSteps: o.MaxSteps, System: system},
	}
	if o.Goal > 0 {
		e.goal = bits.TrailingZeros(uint(o.Goal))
	}
	return e, nil
}

// Spec implements plugin.Environment.
func (e *environment) Spec() plugin.Spec { return e.spec }

// NewSlot implements plugin.Environment.
func (e *environment) NewSlot() (plugin.Slot, error) { return &slot{env: e}, nil }

// Encode implements plugin.Encoder: the newest message shows the board as a slot does, with
// any words before and after it.
func (e *environment) Encode(messages []string, _ string, turn *plugin.Turn) (int, error) {
	var g grid.Grid
	read := func(lines []string) bool {
		var err error
		g, err = grid.Parse(strings.Join(lines, "\n"))
		return err == nil && len(lines) == 4
	}
	if !rows.Find(messages, ".0123456789", read) {
		return 0, turn.Refuse("the newest message shows no board of 16 tiles")
	}
	if !e.show(turn, g) {
		return 0, turn.Refuse("no move is left on the board")
	}
	return -1, nil
}

// show reports whether a move is left.
func (e *environment) show(turn *plugin.Turn, g grid.Grid) bool {
	turn.Anchor = g.Append(turn.Anchor)
	if turn.Features != nil {
		last := e.options.Planes - 1
		for cell := range grid.Cells {
			turn.Features[min(g.Tile(cell), last)*grid.Cells+cell] = 1
		}
	}
	clear(turn.Mask)
	return e.tables.Legal(g, turn.Mask)
}

// slot is one game.
type slot struct {
	env    *environment
	grid   grid.Grid
	random random.Source
	steps  int
	moves  int // moves that changed something
	score  int // in points
}

var _ fmt.Stringer = (*slot)(nil)

// Reset implements plugin.Slot.
func (s *slot) Reset(seed uint64, turn *plugin.Turn) error {
	start, r, err := s.env.dealer.start(seed)
	if err != nil {
		return err
	}
	*s = slot{env: s.env, grid: start, random: r}
	s.env.show(turn, s.grid)
	return nil
}

// Step implements plugin.Slot. A move that changes nothing is not available. If the player
// makes it nevertheless, it costs a step and is marked as invalid.
func (s *slot) Step(action plugin.Action, turn *plugin.Turn) error {
	moved, points := s.env.tables.Move(s.grid, grid.Direction(action.Index))
	s.steps++
	if turn.InvalidAction = moved == s.grid; !turn.InvalidAction {
		s.grid = s.env.dealer.add(moved, &s.random)
		s.moves++
		s.score += points
	}
	won := points > 0 && moved.Largest() >= s.env.goal
	turn.Reward = s.env.reward(points, won)
	stuck := !s.env.show(turn, s.grid)
	turn.Terminated = won || stuck
	turn.Truncated = !turn.Terminated && s.steps == s.env.spec.MaxSteps
	if turn.Terminated || turn.Truncated {
		turn.Metric("score", float64(s.score))
		turn.Metric("max_tile", float64(int(1)<<s.grid.Largest()))
		turn.Metric("moves", float64(s.moves))
	}
	return nil
}

// reward returns the reward of a move; a move that changes nothing has no points.
func (e *environment) reward(points int, won bool) float64 {
	switch {
	case e.options.Reward == "log2":
		return e.options.Scale * math.Log2(float64(1+points))
	case e.options.Reward == "points":
		return e.options.Scale * float64(points)
	case won:
		return e.options.Scale
	}
	return 0
}

// String draws the board with its score.
func (s *slot) String() string {
	return fmt.Sprintf("%s\nscore %d after %d moves", s.grid, s.score, s.moves)
}
