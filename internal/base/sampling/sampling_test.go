package sampling

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// one is a single environment with a list of tasks.
func one(tasks int) []Source { return []Source{{Name: "one", Weight: 1, Tasks: tasks}} }

func config(m Method, tasks int) Config {
	c := Default()
	c.Method, c.Tasks = m, tasks
	return c
}

// taskOf returns the source and the task that an environment with a list would start.
func taskOf(sources []Source, seed uint64) (source, index int) {
	sum := 0
	for _, s := range sources {
		sum += s.Weight
	}
	source = SourceOf(sources, int(seed%uint64(sum)))
	return source, int(seed / uint64(sum) % uint64(sources[source].Tasks))
}

// Promise: an epoch has every task once, whatever the size of a draw; orders differ
// between epochs and between seeds, and equal seeds have equal orders.
func TestEpochs(t *testing.T) {
	const tasks = 37
	draw := func(seed uint64, sizes ...int) (all []int) {
		s := New(config(Epochs, 0), 0, one(tasks))
		s.seed = s.seed.Child(seed)
		for i, n := range sizes {
			for _, start := range s.Draw(i+1, n) {
				_, k := taskOf(one(tasks), start)
				all = append(all, k)
			}
		}
		return all
	}
	all := draw(1, 10, 10, 60, 31)
	require.Len(t, all, 3*tasks)
	for e := range 3 {
		epoch := slices.Clone(all[e*tasks : (e+1)*tasks])
		require.NotEqual(t, all[:tasks], all[tasks:2*tasks])
		slices.Sort(epoch)
		for i, k := range epoch {
			require.Equal(t, i, k)
		}
	}
	require.Equal(t, all, draw(1, 111), "the sizes of draws change nothing")
	require.NotEqual(t, all, draw(2, 111))
}

// Promise: the first tasks of an environment without a list are the same ones for every
// seed, and a draw of a task on a list never repeats its noise.
func TestSeedsOfTasks(t *testing.T) {
	starts := func(seed rl.Seed) []uint64 {
		all := New(config(Epochs, 50), seed, []Source{{Name: "drawn", Weight: 1}}).Draw(1, 50)
		slices.Sort(all)
		return all
	}
	require.Len(t, slices.Compact(starts(1)), 50)
	require.Equal(t, starts(1), starts(2))
	listed := New(config(Epochs, 0), 5, one(3)).Draw(1, 30)
	slices.Sort(listed)
	require.Len(t, slices.Compact(listed), 30)
	require.Greater(t, listed[29], uint64(math.MaxUint64/2), "all 64 bits are used")
}

// Promise: within each run of as many groups as the weights sum to, every environment has
// as many as its weight, and its tasks are its own.
func TestWeights(t *testing.T) {
	sources := []Source{{Name: "a", Weight: 2, Tasks: 5}, {Name: "b", Weight: 1, Tasks: 7}, {Name: "c", Weight: 4, Tasks: 1}}
	s := New(config(Epochs, 6), 3, sources)
	var starts []uint64
	for i := range 20 {
		starts = append(starts, s.Draw(i+1, 7)...)
	}
	played := map[string]int{}
	for b := range 20 {
		have := make([]int, 3)
		for _, start := range starts[7*b : 7*b+7] {
			source, task := taskOf(sources, start)
			have[source]++
			played[fmt.Sprint(source, task)]++
		}
		require.Equal(t, []int{2, 1, 4}, have)
	}
	require.Equal(t, 8, played["0 0"], "40 groups of 5 tasks")
	require.Equal(t, 0, played["1 6"], "tasks limits a list to its first ones")
	require.Equal(t, 80, played["2 0"])
}

// teach plays iterations from … to of a world in which task i is solved with chance p[i] at a
// cost, and returns how often each task was played in the last of them.
func teach(s *Sampler, p, cost []float64, from, to, groups, last int) []int {
	played := make([]int, len(p))
	for it := from; it <= to; it++ {
		var results []Result
		for _, start := range s.Draw(it, groups) {
			_, k := taskOf(s.sources, start)
			if it > to-last {
				played[k]++
			}
			r := Result{Solved: make([]bool, 4), Cost: cost[k], Equal: true}
			for m := range r.Solved {
				r.Solved[m] = s.seed.Path(99, start, uint64(it), uint64(m)).Uniform() < p[k]
				r.Equal = r.Equal && r.Solved[m] == r.Solved[0]
			}
			results = append(results, r)
		}
		s.Report(it, results)
	}
	return played
}

// Promise: pools plays what can teach, in proportion to p(1 − p) ÷ cost; it rests what is
// always or never solved, and looks at that again after Revisit iterations.
func TestPools(t *testing.T) {
	var p, cost []float64
	for i := range 40 { // 10 solved, 10 hopeless, 10 at 1/2, 10 at 1/2 that cost four times as much
		p, cost = append(p, []float64{1, 0, 0.5, 0.5}[i/10]), append(cost, []float64{1, 1, 1, 4}[i/10])
	}
	s := New(config(Pools, 0), 7, one(40))
	played := teach(s, p, cost, 1, 100, 8, 40)
	sum := func(from int) (n int) {
		for _, k := range played[from : from+10] {
			n += k
		}
		return n
	}
	require.Equal(t, 20, sum(0), "each twice in 40 iterations")
	require.Equal(t, 20, sum(10))
	require.InDelta(t, 4, float64(sum(20))/float64(sum(30)), 1.6)
	m := s.Measure()
	require.Equal(t, []int{40, 40, 20, 10, 10}, []int{m.Tasks, m.Played, m.Active, m.Solved, m.Unsolved})
	require.Equal(t, 20., m.Epochs)

	p[12] = 0.5 // the policy has learned a hopeless task
	require.Greater(t, teach(s, p, cost, 101, 160, 8, 30)[12], 8)
	require.Equal(t, 9, s.Measure().Unsolved)
}

// Promise: pools fills a draw from resting tasks if it must, and from all tasks again if
// there are too few, without an error.
func TestPoolsOfRestingTasks(t *testing.T) {
	s := New(config(Pools, 0), 7, one(3))
	played := teach(s, make([]float64, 3), []float64{1, 1, 1}, 1, 30, 8, 30)
	require.Equal(t, 240, played[0]+played[1]+played[2])
	require.Equal(t, 3, s.Measure().Unsolved)
}

// Promise: a sampler that is restored between any two iterations draws as one that never
// stopped, and its state is at most 21 bytes a task.
func TestState(t *testing.T) {
	sources := []Source{{Name: "a", Weight: 2, Tasks: 30}, {Name: "b", Weight: 1, Tasks: 50}}
	p := make([]float64, 50)
	for i := range p {
		p[i] = float64(i%5) / 4
	}
	for _, method := range []Method{Random, Epochs, Pools} {
		whole, parts := New(config(method, 0), 9, sources), New(config(method, 0), 9, sources)
		for it := 1; it <= 40; it++ {
			next := New(config(method, 0), 9, sources)
			require.NoError(t, next.Restore(parts.State()))
			parts = next
			for _, s := range []*Sampler{whole, parts} {
				starts := s.Draw(it, 7)
				results := make([]Result, len(starts))
				for i, start := range starts {
					_, k := taskOf(sources, start)
					results[i] = Result{Solved: []bool{s.seed.Path(1, start).Uniform() < p[k], p[k] > 0.5}, Cost: float64(1 + k)}
				}
				s.Report(it, results)
			}
			require.Equal(t, whole.State(), parts.State())
			require.Equal(t, whole.Measure(), parts.Measure())
		}
		require.LessOrEqual(t, len(whole.State()), 21*80+33)
	}
	s := New(config(Pools, 0), 9, one(4))
	require.Error(t, s.Restore(nil))
	require.Error(t, s.Restore(New(config(Pools, 0), 9, one(5)).State()))
	require.NoError(t, s.Restore(s.State()))
}

// Promise: settings that cannot work are refused with the environment at fault, all at once.
func TestSuits(t *testing.T) {
	sources := []Source{{Name: "listed", Weight: 1, Tasks: 8}, {Name: "drawn", Weight: 1}, {Name: "huge", Weight: 1, Tasks: MaxTasks + 1}}
	require.Empty(t, config(Random, 0).Suits(sources))
	require.Empty(t, config(Pools, 100).Suits(sources))
	problems := config(Epochs, 0).Suits(sources)
	require.Len(t, problems, 2)
	require.Equal(t, "tasks", fault.As(problems[0]).Where)
	require.ErrorContains(t, problems[0], "environment drawn has no fixed list of tasks")
	require.ErrorContains(t, problems[1], "environment huge has more than 1048576 tasks")
	require.Len(t, Config{Method: "best", Tasks: -1, Window: 99, Cost: "time"}.Validate(), 5)
}
