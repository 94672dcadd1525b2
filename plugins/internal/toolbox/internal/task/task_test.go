package task

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/world"
)

func config(change func(*Config)) *Config {
	c := &Config{Menu: Wide(8), Calls: [2]int{1, 5}, Ordered: 0.5, IDs: 0.5, Stale: 0.5, Flaky: 0.5, Locked: 0.5, Accept: func(uint64) bool { return true }}
	for k := range Kinds {
		c.Kinds = append(c.Kinds, k)
	}
	if change != nil {
		change(c)
	}
	return c
}

// Promise: a task can be done, and by as many calls as it says, given that one
// knows what will fail; each of its effects changes the world; what the request
// says of it is all that it takes.
func TestTasksCanBeDone(t *testing.T) {
	c := config(nil)
	kinds, stale, ordered := map[Kind]int{}, 0, 0
	for seed := range uint64(300) {
		task, err := Draw(c, seed)
		require.NoError(t, err)
		w, calls := task.Start.Clone(), 0
		apply := func(call world.Call) world.Result {
			for {
				if area := call.Tool.Signature().Area; w.Locked[area] {
					calls++
					w.Apply(world.Call{Tool: world.RequestAccess, Args: world.Args{Area: area.String()}})
				}
				calls++
				if r := w.Apply(call); r.Code != world.Unavailable {
					require.Empty(t, r.Code, task.Text)
					return r
				}
			}
		}
		var effects []world.Call
		for i := range task.Goals {
			g := &task.Goals[i]
			kinds[g.Kind]++
			id, degrees := g.ID, 0.0
			if find, ok := g.Find(); ok && (id == "" || g.Stale) {
				found := apply(find)
				id = found.Found
				if s, ok := found.Value.(world.Thermostat); ok {
					degrees = s.Temperature
				}
			}
			if g.Stale {
				stale++
				bad := task.Start.Clone()
				bad.Locked, bad.Flaky = [world.Areas]bool{}, [world.Tools]int{}
				require.Equal(t, world.NotFound, bad.Apply(g.Do(g.ID, 0)).Code)
			}
			effects = append(effects, *apply(g.Do(id, degrees)).Effect)
			require.Contains(t, task.Text, g.Words())
		}
		require.Equal(t, task.Effects, effects)
		require.Equal(t, task.Change, world.Difference(task.Lines, w.Lines()))
		require.Equal(t, task.Needed, calls, task.Text)
		require.Equal(t, task.Ordered, strings.Contains(task.Text, "in this order"))
		if task.Ordered {
			ordered++
		}
	}
	require.Len(t, kinds, int(Kinds))
	require.Positive(t, stale)
	require.Positive(t, ordered)
}

// Promise: without injected faults the calls that a task needs are in the range
// that was asked for, and so are its kinds.
func TestCurriculum(t *testing.T) {
	c := config(func(c *Config) {
		c.Calls, c.Kinds, c.Flaky, c.Locked = [2]int{2, 3}, []Kind{MoveEvent, AddNote}, 0, 0
	})
	seen := map[int]int{}
	for seed := range uint64(100) {
		task, err := Draw(c, seed)
		require.NoError(t, err)
		seen[task.Needed]++
		for _, g := range task.Goals {
			require.Contains(t, c.Kinds, g.Kind)
		}
	}
	require.Len(t, seen, 2)
	require.Equal(t, 100, seen[2]+seen[3])
}

// Promise: a seed is a task for ever: the first of two menus, word by word.
func TestGolden(t *testing.T) {
	var said []string
	for seed := range uint64(3) {
		task, err := Draw(config(func(c *Config) { c.Menu = Small(6) }), seed)
		require.NoError(t, err)
		said = append(said, fmt.Sprintf("%d: %s", task.Needed, task.Text))
	}
	require.Equal(t, golden, strings.Join(said, "\n"))
}

// Promise: goals that are the same in another order, or with other ids, are the
// same request, so that no twin is held out.
func TestHash(t *testing.T) {
	a, b := Goal{Kind: CancelEvent, Target: "Budget", ID: "ev-1"}, Goal{Kind: AddNote, Target: "Lunch"}
	other := a
	other.ID, other.Stale = "ev-2", true
	require.Equal(t, hash([]Goal{a, b}), hash([]Goal{b, other}))
	require.NotEqual(t, hash([]Goal{a}), hash([]Goal{a, b}))
	b.Pinned = true
	require.NotEqual(t, hash([]Goal{{Kind: AddNote, Target: "Lunch"}}), hash([]Goal{b}))
}

// Promise: a search that cannot end is given up with a reason.
func TestNothingToDraw(t *testing.T) {
	_, err := Draw(config(func(c *Config) { c.Accept = func(uint64) bool { return false } }), 1)
	require.ErrorContains(t, err, "no task of 1 to 5 calls was found in 4000 attempts")
}

// Promise: no word of a menu is a part of another of its list: a search for one
// finds one.
func TestMenuWords(t *testing.T) {
	m := Wide(MostThings)
	for _, list := range [][]string{m.People, append(m.Titles, m.New...), m.Items, append(m.Notes, m.New...)} {
		for i, a := range list {
			for j, b := range list {
				require.False(t, i != j && strings.Contains(strings.ToLower(b), strings.ToLower(a)), "%s is in %s", a, b)
			}
		}
	}
}
