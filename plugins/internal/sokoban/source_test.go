package sokoban

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/solve"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/symmetry"
	"github.com/merit-rl/merit/sdk/plugin"
)

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// forms returns the canonical forms of n levels of a split.
func forms(t *testing.T, o Options, split string, n int) map[string]bool {
	t.Helper()
	src, err := newSource(o, split)
	require.NoError(t, err)
	var c symmetry.Canonicaliser
	all := make(map[string]bool)
	for seed := range uint64(n) {
		l, err := src.Level(seed, &level{})
		require.NoError(t, err)
		all[string(c.Form(&l.Board))] = true
	}
	return all
}

func requireDisjoint(t *testing.T, o Options, n int) {
	t.Helper()
	seen := make(map[string]string)
	for _, split := range splits() {
		levels := forms(t, o, split, n)
		require.NotEmpty(t, levels)
		for form := range levels {
			require.Empty(t, seen[form], "%s and %s share\n%s", seen[form], split, form)
		}
		for form := range levels {
			seen[form] = split
		}
	}
}

// Promise: no held-out level is a training level, not even turned or mirrored.
func TestSplitsAreDisjoint(t *testing.T) {
	o := defaults()
	o.Size = 5 // few levels: chance alone would make them meet
	requireDisjoint(t, o, 1000)
}

// Promise: the same of the real Boxoban files, dealt by share and by file.
func TestFileSplitsAreDisjoint(t *testing.T) {
	o := defaults()
	o.Levels.Path, o.OptimumStates = testneeds.Shared(t, "data", "boxoban"), 0
	requireDisjoint(t, o, 3000)
	train := testneeds.Shared(t, "data", "boxoban", "unfiltered_train_000.txt")
	o.Levels = Levels{BySplit: map[string]string{
		plugin.Train:      train,
		plugin.Validation: testneeds.Shared(t, "data", "boxoban", "unfiltered_valid_000.txt"),
		plugin.Test:       twinsAndOne(t, train),
	}}
	requireDisjoint(t, o, 3000)
	require.Len(t, forms(t, o, plugin.Test, 3000), 1, "twins of training levels are taken out")
}

// twinsAndOne writes a level of file, mirrored, and one that is new.
func twinsAndOne(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	rows := strings.Split(string(raw), "\n")[1:11]
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return writeLevel(t, "; 0\n"+strings.Join(rows, "\n")+"\n"+corridor)
}

// Promise: the optimum of a generated level is the solver's, at four boxes too;
// that of a level of a file is searched for once, within the budget.
func TestOptimum(t *testing.T) {
	var solver solve.Solver
	o := defaults()
	o.Size, o.Boxes, o.Optimum = 7, 4, Range{8, 30}
	src, err := newSource(o, plugin.Train)
	require.NoError(t, err)
	for seed := range uint64(3) {
		l, err := src.Level(seed, &level{})
		require.NoError(t, err)
		want, ok := solver.Optimum(&l.Board, 100)
		require.True(t, ok)
		require.Equal(t, want, l.optimum)
	}
	o.Levels.BySplit = map[string]string{plugin.Train: writeLevel(t, corridor)}
	src, err = newSource(o, plugin.Train)
	require.NoError(t, err)
	l, err := src.Level(1, &level{})
	require.NoError(t, err)
	require.Equal(t, 2, l.optimum)
	src.(*filed).solver.Budget = 1
	again, err := src.Level(2, &level{})
	require.NoError(t, err)
	require.Same(t, l, again, "searched once")
	require.Equal(t, 2, again.optimum)
}

// Promise: of real Boxoban levels with four boxes, some optima are known within
// the default budget, and most within ten times of it.
func TestOptimaOfBoxoban(t *testing.T) {
	o := defaults()
	o.Levels.BySplit = map[string]string{plugin.Train: testneeds.Shared(t, "data", "boxoban", "unfiltered_valid_000.txt")}
	known := map[int]int{}
	for _, states := range []int{o.OptimumStates, 10 * o.OptimumStates} {
		o.OptimumStates = states
		src, err := newSource(o, plugin.Train)
		require.NoError(t, err)
		for seed := range uint64(40) {
			l, err := src.Level(seed, &level{})
			require.NoError(t, err)
			require.Equal(t, 4, strings.Count(l.String(), "$")+strings.Count(l.String(), "*"))
			if l.optimum > 0 {
				known[states]++
			}
		}
	}
	require.Positive(t, known[10_000])
	require.Greater(t, known[100_000], 20)
}

// Promise: one Spec for all splits, whatever the sizes of their levels.
func TestFileSidesAreCommon(t *testing.T) {
	o := defaults()
	o.Levels.BySplit = map[string]string{
		plugin.Train: writeLevel(t, corridor),
		plugin.Test:  writeLevel(t, strings.ReplaceAll(corridor, "#    #", "#    #\n#    #")),
	}
	for _, split := range []string{plugin.Train, plugin.Test} {
		src, err := newSource(o, split)
		require.NoError(t, err)
		height, width := src.Sides()
		require.Equal(t, []int{5, 6}, []int{height, width})
	}
	_, err := newSource(o, plugin.Validation)
	require.ErrorContains(t, err, "no level is left for split validation")
}

// Promise: a level file that is missing or wrong is named with file and line.
func TestWrongLevelFiles(t *testing.T) {
	o := defaults()
	o.Levels.Path = writeLevel(t, "; 0\n######\n#@@$.#\n######\n")
	_, err := newSource(o, plugin.Train)
	require.ErrorContains(t, err, "level.txt:2: 2 players, not one")
	o.Levels.Path = "absent.txt"
	_, err = newSource(o, plugin.Train)
	require.ErrorContains(t, err, "options.levels: ")
	require.ErrorContains(t, err, "absent.txt: no such file")
}
