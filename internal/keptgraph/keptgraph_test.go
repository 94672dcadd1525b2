package keptgraph_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/keptgraph"
)

func config(most int) advantage.Config {
	c := advantage.Default()
	c.Estimator, c.KeptEdges = "tigpo", most
	return c
}

// episode is the states that a member saw, and its score.
type episode struct {
	states string // one letter each
	score  float64
}

// batch returns the rows of groups.
func batch(groups ...[]episode) *advantage.Rows {
	r, n := new(advantage.Rows), int32(0)
	for g, members := range groups {
		for _, e := range members {
			for t, state := range e.states {
				r.Group, r.Trajectory, r.Step = append(r.Group, int32(g)), append(r.Trajectory, n), append(r.Step, int32(t))
				r.Anchor, r.Reward, r.Score = append(r.Anchor, string(state)), append(r.Reward, 0), append(r.Score, e.score)
			}
			n++
		}
	}
	return r
}

// Promise: by hand. The first update went a b c and won. The second begins at a, too, and
// nobody wins: d leads to b, e nowhere. Kept steps lead from a to a success in three, but a b is
// a step of the group, so b alone has a stretch: two steps. The distances are 2 from b, 3 from
// d and a; e has no way and is one step further than the furthest.
func TestByHand(t *testing.T) {
	g := keptgraph.New(config(100))
	first := batch([]episode{{"abc", 1}, {"ad", 0}})
	require.Equal(t, keptgraph.Counts{}, g.Reach(first, nil))
	require.Equal(t, make([]int32, 5), first.KeptSteps)
	require.Zero(t, g.Add(first, nil))

	second := batch([]episode{{"adb", 0}, {"ab", 0}, {"ae", 0}}, []episode{{"xb", 0}, {"xe", 0}})
	require.Equal(t, keptgraph.Counts{Edges: 4, Starts: 1, Revisited: 1}, g.Reach(second, nil), "x is another start, so b there has no way")
	require.Equal(t, []int32{0, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0}, second.KeptSteps)
	require.Equal(t, []int32{-1, -1}, []int32{second.KeptTo[2], second.KeptTo[4]})
	var d advantage.Result
	require.NoError(t, advantage.Estimate(config(100), second, &d))
	// After each step: d, b, the end; b, the end; e, the end. Far is 3: unreachable is 4.
	require.Equal(t, []int32{3, 2, 4, 2, 4, 4, 4}, d.Distance[:7])
	q := []float64{0.01, 0.1, 0.001} // from a, to d, b and e
	mean := (q[0] + q[1] + q[2]) / 3
	require.Greater(t, d.Step[3], 0.0)
	require.InDelta(t, (q[0]-mean)/(q[1]-mean), d.Step[0]/d.Step[3], 1e-9)
	require.InDelta(t, (q[2]-mean)/(q[1]-mean), d.Step[5]/d.Step[3], 1e-9)
	require.Zero(t, d.Step[1], "alone in its state")
	require.Equal(t, make([]float64, 4), d.Step[7:], "no success in the other start")

	// A stretch can lead back to a state of the group, and from there a step of the group wins.
	g = keptgraph.New(config(100))
	g.Add(batch([]episode{{"apqz", 0}}), nil)
	third := batch([]episode{{"a", 0}, {"az", 1}, {"ap", 0}})
	g.Reach(third, nil)
	require.Equal(t, []int32{0, 0, 0, 0, 2}, third.KeptSteps)
	require.Equal(t, int32(2), third.KeptTo[4], "p leads by q to z, which row 2 saw")
	require.NoError(t, advantage.Estimate(config(100), third, &d))
	require.Equal(t, []int32{4, 1, 0, 3, 4}, d.Distance)
}

// random returns a batch of random walks from the starts a to d; one walk in four wins.
func random(r *rand.Rand) *advantage.Rows {
	var groups [][]episode
	for range 4 {
		start := string(rune('a' + r.IntN(4)))
		var members []episode
		for range 3 {
			e := episode{states: start}
			for range r.IntN(6) {
				e.states += string(rune('a' + r.IntN(12)))
			}
			if r.IntN(4) == 0 {
				e.score = 1
			}
			members = append(members, e)
		}
		groups = append(groups, members)
	}
	return batch(groups...)
}

// Promise: the distances that the estimator finds from its rows and the stretches are those in
// the union of the kept graph and the group's steps, which this test finds by relaxation.
func TestUnion(t *testing.T) {
	type edge struct{ from, to string }
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := keptgraph.New(config(1 << 20))
		kept := map[string]map[edge]bool{}
		for range 6 {
			rows := random(r)
			g.Reach(rows, nil)
			var d advantage.Result
			require.NoError(t, advantage.Estimate(config(1<<20), rows, &d))
			fresh := map[int32]map[edge]bool{}
			starts := map[int32]string{}
			lost := map[int]bool{}
			for i := range rows.Group {
				n := rows.Group[i]
				if fresh[n] == nil {
					fresh[n], starts[n] = map[edge]bool{}, rows.Anchor[i]
				}
				switch last := i+1 == rows.Len() || rows.Trajectory[i+1] != rows.Trajectory[i]; {
				case !last:
					fresh[n][edge{rows.Anchor[i], rows.Anchor[i+1]}] = true
				case rows.Score[i] > 0:
					fresh[n][edge{rows.Anchor[i], "won"}] = true
				default:
					lost[i] = true
				}
			}
			for i := range rows.Group {
				n := rows.Group[i]
				far, of := map[string]int{"won": 0}, []map[edge]bool{fresh[n], kept[starts[n]]}
				for changed := true; changed; {
					changed = false
					for _, edges := range of {
						for e := range edges {
							if d, ok := far[e.to]; ok {
								if old, known := far[e.from]; !known || d+1 < old {
									far[e.from], changed = d+1, true
								}
							}
						}
					}
				}
				most := 0
				for k := range rows.Group {
					if rows.Group[k] == n {
						most = max(most, far[rows.Anchor[k]])
					}
				}
				want := most + 1
				next := "won"
				if i+1 < rows.Len() && rows.Trajectory[i+1] == rows.Trajectory[i] {
					next = rows.Anchor[i+1]
				}
				if d, ok := far[next]; ok && !lost[i] {
					want = d
				}
				require.Equal(t, int32(want), d.Distance[i], "seed %d row %d", seed, i)
			}
			g.Add(rows, nil)
			for n, edges := range fresh {
				if kept[starts[n]] == nil {
					kept[starts[n]] = map[edge]bool{}
				}
				for e := range edges {
					kept[starts[n]][e] = true
				}
			}
		}
	}
}

// Promise: an update forgets the oldest edges, whole updates at a time, and never more than
// needed; an edge that is taken again is new again; one update alone keeps its first edges.
func TestForget(t *testing.T) {
	g := keptgraph.New(config(4))
	require.Zero(t, g.Add(batch([]episode{{"ab", 1}}), nil)) // a b, b won
	require.Zero(t, g.Add(batch([]episode{{"ac", 1}}), nil)) // a c, c won
	require.Equal(t, 1, g.Add(batch([]episode{{"abd", 0}}), nil), "b won leaves; a b is new again, b d comes")
	rows := batch([]episode{{"ab", 0}, {"ac", 0}})
	require.Equal(t, keptgraph.Counts{Edges: 4, Starts: 1, Revisited: 1}, g.Reach(rows, nil))
	require.Equal(t, []int32{0, 0, 0, 1}, rows.KeptSteps, "only c is known to win")
	require.Equal(t, 4, g.Add(batch([]episode{{"xyzuvw", 1}}), nil), "the first four edges of x, and nothing else")
	require.Equal(t, keptgraph.Counts{Edges: 4, Starts: 1}, g.Reach(rows, nil))
	require.Zero(t, keptgraph.New(config(0)).Add(rows, nil))
}

// Promise: a start without a step that leads somewhere has no graph: where all die at once,
// nothing is kept and nothing is counted, however many starts there are.
func TestDeadEnds(t *testing.T) {
	g := keptgraph.New(config(100))
	for _, state := range "abcdef" {
		g.Add(batch([]episode{{string(state), 0}, {string(state), 0}}), nil)
	}
	require.Equal(t, keptgraph.Counts{}, g.Reach(batch([]episode{{"ab", 1}}), nil))
	full := keptgraph.New(config(2))
	full.Add(batch([]episode{{"ab", 1}}, []episode{{"xy", 1}}), nil)
	require.Equal(t, keptgraph.Counts{Edges: 2, Starts: 1}, full.Reach(batch([]episode{{"x", 0}}), nil), "nothing is left for x")
}

// Promise: equal histories have equal bytes, and a graph that was saved and restored at any
// update continues as if it had not been; damaged bytes are an error, never a panic.
func TestBytes(t *testing.T) {
	history := func(restoreAt int) []byte {
		r := rand.New(rand.NewPCG(7, 1))
		g := keptgraph.New(config(40))
		for n := range 12 {
			rows := random(r)
			g.Reach(rows, nil)
			g.Add(rows, nil)
			if n == restoreAt {
				saved := g.Bytes()
				g = keptgraph.New(config(40))
				require.NoError(t, g.Restore(saved))
				require.Equal(t, saved, g.Bytes())
			}
		}
		return g.Bytes()
	}
	want := history(-1)
	for n := range 12 {
		require.Equal(t, want, history(n), "restored after update %d", n+1)
	}
	g := keptgraph.New(config(40))
	for n := range want {
		require.Error(t, g.Restore(want[:n]), "cut after %d bytes", n)
		changed := bytes.Clone(want)
		changed[n] ^= 0x55
		_ = g.Restore(changed)
	}
	require.Error(t, g.Restore(append(bytes.Clone(want), 0)))
	require.Equal(t, keptgraph.New(config(40)).Bytes(), g.Bytes(), "it is empty after an error")
	require.Nil(t, keptgraph.New(advantage.Default()))
}

// Promise: any bytes are an error or a graph that works, in bounded time; a graph that need
// not forget has the same bytes again.
func FuzzRestore(f *testing.F) {
	g := keptgraph.New(config(40))
	for range 3 {
		g.Add(random(rand.New(rand.NewPCG(7, 1))), nil)
	}
	f.Add(g.Bytes(), uint16(40))
	f.Add(g.Bytes(), uint16(1))
	node := "fedcba9876543210"
	f.Add([]byte("g\xff\xff\xff\xff\x0f\x01"+node+"\x01"+node+"\x02\x01\x00\x01\x00\x01\x01"), uint16(1)) // of four billion updates, the first is the newest with edges
	f.Fuzz(func(t *testing.T, data []byte, most uint16) {
		g := keptgraph.New(config(int(most)))
		if g.Restore(data) != nil {
			require.Equal(t, keptgraph.New(config(int(most))).Bytes(), g.Bytes())
			return
		}
		rows := random(rand.New(rand.NewPCG(7, 2)))
		if g.Reach(rows, nil).Edges < int(most) {
			again := keptgraph.New(config(int(most)))
			require.NoError(t, again.Restore(g.Bytes()))
			require.Equal(t, g.Bytes(), again.Bytes())
		}
		g.Add(rows, nil)
	})
}

// 102,400 rows of 800 groups, whose starts and states all have kept graphs.
func BenchmarkUpdate(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 1))
	rows := new(advantage.Rows)
	for g := range 800 {
		for m := range 8 {
			for t := range 16 {
				rows.Group, rows.Trajectory, rows.Step = append(rows.Group, int32(g)), append(rows.Trajectory, int32(8*g+m)), append(rows.Step, int32(t))
				state := r.IntN(32)
				if t == 0 {
					state = g
				}
				rows.Anchor = append(rows.Anchor, fmt.Sprintf("################ state %03d ...............", state))
				rows.Reward, rows.Score = append(rows.Reward, 0), append(rows.Score, float64(m%2))
			}
		}
	}
	g := keptgraph.New(config(1 << 20))
	g.Add(rows, nil)
	var d advantage.Result
	b.Run("reach", func(b *testing.B) {
		for b.Loop() {
			g.Reach(rows, nil)
		}
	})
	b.Run("estimate", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, advantage.Estimate(config(1<<20), rows, &d))
		}
	})
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			g.Add(rows, nil)
		}
	})
}
