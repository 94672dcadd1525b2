package sampling

import (
	"math"

	"github.com/merit-rl/merit/core/rl"
)

// Sampler draws the tasks of a run. It is not safe for concurrent use.
type Sampler struct {
	cfg     Config
	seed    rl.Seed
	sources []Source
	sum     int    // of the weights
	drawn   uint64 // groups so far
	sets    []set  // by source

	open  []task // drawn and not reported, in order
	again int    // drawn since Measure because they were due
	equal int    // reported since Measure as equal, of …
	heard int    // … so many
}

// set is the tasks of a source.
type set struct {
	size  int
	drawn uint64 // groups of the source so far
	order []int  // of the epoch; nil until it is needed
	known []record
}

// task names a task by source and number.
type task struct{ source, index int }

// Branches of the seed of a sampler.
const (
	byMix   uint64 = iota + 1 // which source is next
	byOrder                   // the order of an epoch
	byTask                    // draws among tasks
	byNoise                   // which of the seeds of a task
)

// fixed is the seed of tasks that are not on a list: run seeds do not change the set.
const fixed rl.Seed = 0x7461736b73 // "tasks"

// New returns the sampler of a run with the given seed. Config.Suits has accepted the sources.
func New(cfg Config, seed rl.Seed, sources []Source) *Sampler {
	s := &Sampler{cfg: cfg, seed: seed, sources: sources}
	for _, from := range sources {
		s.sum += from.Weight
		t := set{size: cfg.size(from)}
		t.known = make([]record, t.size)
		s.sets = append(s.sets, t)
	}
	return s
}

// Draw returns the seeds of the environment for the next n groups of an iteration. Within
// each run of as many groups as the weights sum to, every source has as many as its weight.
func (s *Sampler) Draw(iteration, n int) []uint64 {
	remainders := s.mix(n)
	wanted := make([]int, len(s.sources))
	for _, r := range remainders {
		wanted[s.sourceOf(r)]++
	}
	tasks := make([][]int, len(s.sources))
	for i, n := range wanted {
		tasks[i] = s.pick(i, iteration, n)
	}
	seeds := make([]uint64, n)
	for k, r := range remainders {
		i := s.sourceOf(r)
		t := task{i, tasks[i][0]}
		tasks[i] = tasks[i][1:]
		seeds[k] = s.seedOf(t, r, s.drawn+uint64(k))
		s.open = append(s.open, t)
	}
	s.drawn += uint64(n)
	return seeds
}

// mix returns the remainders of the next n groups.
func (s *Sampler) mix(n int) []int {
	out := make([]int, 0, n)
	var order []int
	block := uint64(math.MaxUint64)
	for k := range uint64(n) {
		at := s.drawn + k
		if b := at / uint64(s.sum); b != block {
			block, order = b, permutation(s.seed.Path(byMix, b), s.sum)
		}
		out = append(out, order[at%uint64(s.sum)])
	}
	return out
}

// sourceOf returns the source of a remainder.
func (s *Sampler) sourceOf(r int) int { return SourceOf(s.sources, r) }

// SourceOf returns the index of the source to which a remainder belongs.
func SourceOf(sources []Source, r int) int {
	for i, from := range sources {
		if r -= from.Weight; r < 0 {
			return i
		}
	}
	panic("sampling: a remainder beyond the weights")
}

// seedOf returns the seed that starts a task with remainder r. A task of a list has many
// seeds, and every draw takes another one, so that what is random after the start differs.
func (s *Sampler) seedOf(t task, r int, draw uint64) uint64 {
	w, n := uint64(s.sum), max(1, uint64(s.sources[t.source].Tasks))
	random := uint64(s.seed.Path(byNoise, draw))
	if s.sources[t.source].Tasks == 0 {
		random = uint64(fixed.Path(uint64(t.index)))
	}
	laps := random / (w * n)
	laps -= min(laps, 1) // so that no sum exceeds 64 bits
	seed := n * laps
	if n > 1 {
		seed += uint64(t.index)
	}
	return uint64(r) + w*seed
}

// pick returns the tasks of the next n groups of a source.
func (s *Sampler) pick(source, iteration, n int) []int {
	t := &s.sets[source]
	defer func() { t.drawn += uint64(n) }()
	switch s.cfg.Method {
	case Epochs:
		return t.next(s.seed.Path(byOrder, uint64(source)), n)
	case Pools:
		return s.promising(source, iteration, n)
	}
	out := make([]int, n)
	for k := range out {
		out[k] = below(s.seed.Path(byTask, uint64(source), t.drawn+uint64(k)), t.size)
	}
	return out
}

// next returns the next n tasks of the epochs, whose orders are a function of seed.
func (t *set) next(seed rl.Seed, n int) []int {
	out := make([]int, n)
	for k := range out {
		at := t.drawn + uint64(k)
		epoch, place := at/uint64(t.size), at%uint64(t.size)
		if t.order == nil || place == 0 {
			t.order = permutation(seed.Child(epoch), t.size)
		}
		out[k] = t.order[place]
	}
	return out
}

// permutation returns a permutation of the numbers below n (Fisher and Yates).
func permutation(seed rl.Seed, n int) []int {
	order := make([]int, n)
	for i := range order {
		j := below(seed.Child(uint64(i)), i+1)
		order[i] = order[j]
		order[j] = i
	}
	return order
}

// below returns a number below n.
func below(seed rl.Seed, n int) int { return min(int(seed.Uniform()*float64(n)), n-1) }
