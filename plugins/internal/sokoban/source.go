package sokoban

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/boxoban"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/generate"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/solve"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/symmetry"
	"github.com/merit-rl/merit/sdk/plugin"
)

// level is a board at its start.
type level struct {
	board.Board
	optimum int // moves of the shortest solution; 0 if it is not known
}

// source returns levels. The level of a seed is a pure function of the seed, the options and
// the split.
type source interface {
	// Level returns the level of a seed, which may be spare; read only.
	Level(seed uint64, spare *level) (*level, error)
	// Tasks is the number of levels, if they are a list.
	Tasks() int
	// Sides are the largest height and width over all splits.
	Sides() (height, width int)
}

func newSource(o Options, split string) (source, error) {
	if o.Levels.given() {
		return readLevels(o, split)
	}
	return &generated{side: o.Size, generator: generate.New(generate.Config{
		Side: o.Size, Boxes: o.Boxes, Walls: generate.Range(o.Walls), Optimum: generate.Range(o.Optimum),
		Accept: func(hash uint64) bool { return o.Shares.Of(hash) == split },
	})}, nil
}

type generated struct {
	side      int
	generator *generate.Generator
}

func (g *generated) Level(seed uint64, l *level) (_ *level, err error) {
	l.optimum, err = g.generator.Level(seed, &l.Board)
	return l, err
}

func (g *generated) Tasks() int { return 0 }

func (g *generated) Sides() (height, width int) { return g.side, g.side }

// filed is a source of levels from files.
type filed struct {
	levels        []*filedLevel
	solver        solve.Solver
	height, width int
}

// readLevels reads the files of all splits, because together they determine which split gets
// which level, and the size of the features.
func readLevels(o Options, split string) (source, error) {
	f := &filed{solver: solve.Solver{Budget: o.OptimumStates}}
	var form symmetry.Canonicaliser
	taken := map[uint64]string{} // symmetry hash → split
	var errs []error
	for _, from := range splits() {
		path, key := o.Levels.Path, "levels"
		if o.Levels.BySplit != nil {
			path, key = o.Levels.BySplit[from], "levels."+from
		}
		if path == "" || (o.Levels.BySplit == nil && from != split) {
			continue
		}
		levels, err := boxoban.Read(filepath.Clean(path))
		if err != nil {
			errs = append(errs, plugin.Problem(key, err.Error(), "give a Boxoban text file, or a folder of them"))
			continue
		}
		for _, b := range levels {
			f.height, f.width = max(f.height, b.Height()), max(f.width, b.Width())
			hash, owner := form.Hash(b), from
			if o.Levels.BySplit == nil {
				owner = o.Shares.Of(hash)
			} else if before, ok := taken[hash]; ok {
				owner = before
			}
			taken[hash] = owner
			if owner == split && from == split {
				f.levels = append(f.levels, &filedLevel{level: level{Board: *b}})
			}
		}
	}
	if len(errs) == 0 && len(f.levels) == 0 {
		errs = append(errs, plugin.Problem("levels", fmt.Sprintf("no level is left for split %s", split), "give more levels, or other shares"))
	}
	return f, errors.Join(errs...)
}

// filedLevel is a level from a file. Its shortest solution is searched for once, when the
// level is first played.
type filedLevel struct {
	level
	searched bool
}

// anyLength is the limit of moves of a search that only its budget limits.
const anyLength = 1 << 20

// Level takes the seeds as they come from a seed tree: well mixed.
func (f *filed) Level(seed uint64, _ *level) (*level, error) {
	l := f.levels[seed%uint64(len(f.levels))]
	if !l.searched && f.solver.Budget > 0 {
		l.optimum, _ = f.solver.Optimum(&l.Board, anyLength)
	}
	l.searched = true
	return &l.level, nil
}

func (f *filed) Tasks() int { return len(f.levels) }

func (f *filed) Sides() (height, width int) { return f.height, f.width }
