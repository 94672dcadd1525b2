package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/merit-rl/merit/plugins/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/sokoban/internal/boxoban"
	"github.com/merit-rl/merit/plugins/sokoban/internal/generate"
	"github.com/merit-rl/merit/plugins/sokoban/internal/symmetry"
	"github.com/merit-rl/merit/sdk/plugin"
)

// source gives levels: the level of a seed is a pure function of the seed, the
// options and the split.
type source interface {
	// Level fills b.
	Level(seed uint64, b *board.Board) error
	// Sides are the largest height and width over all splits.
	Sides() (height, width int)
}

func newSource(o Options, split string) (source, error) {
	if o.Levels.given() {
		return readLevels(o, split)
	}
	return &generated{side: o.Size, generator: generate.New(generate.Config{
		Side: o.Size, Boxes: o.Boxes, Walls: generate.Range(o.Walls), Optimum: generate.Range(o.Optimum),
		Accept: func(hash uint64) bool { return o.Shares.of(hash) == split },
	})}, nil
}

// of deals a level to a split by its symmetry hash, so that twins are never
// parted.
func (s Shares) of(hash uint64) string {
	switch u := float64(hash>>11) * 0x1p-53; {
	case u < s.Test:
		return plugin.Test
	case u < s.Test+s.Validation:
		return plugin.Validation
	default:
		return plugin.Train
	}
}

type generated struct {
	side      int
	generator *generate.Generator
}

func (g *generated) Level(seed uint64, b *board.Board) error { return g.generator.Level(seed, b) }

func (g *generated) Sides() (height, width int) { return g.side, g.side }

// filed are the levels of files.
type filed struct {
	levels        []*board.Board
	height, width int
}

// readLevels reads the files of every split, for they decide together who gets
// which level and how large the features are.
func readLevels(o Options, split string) (source, error) {
	f := &filed{}
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
				owner = o.Shares.of(hash)
			} else if before, ok := taken[hash]; ok {
				owner = before
			}
			taken[hash] = owner
			if owner == split && from == split {
				f.levels = append(f.levels, b)
			}
		}
	}
	if len(errs) == 0 && len(f.levels) == 0 {
		errs = append(errs, plugin.Problem("levels", fmt.Sprintf("no level is left for split %s", split), "give more levels, or other shares"))
	}
	return f, errors.Join(errs...)
}

// Level takes the seeds as they come from a seed tree: well mixed.
func (f *filed) Level(seed uint64, b *board.Board) error {
	b.Set(f.levels[seed%uint64(len(f.levels))])
	return nil
}

func (f *filed) Sides() (height, width int) { return f.height, f.width }
