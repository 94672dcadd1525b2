package sampling

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// record is what is known about a task: 24 bytes.
type record struct {
	results uint64 // of its latest episodes, the newest in bit 0: 1 is solved
	n       uint8  // how many of them there are, at most Window
	last    uint32 // iteration that played it last; 0 = none
	cost    float64
}

// Result is what a group says about its task.
type Result struct {
	Solved []bool  // by scored episode
	Cost   float64 // mean cost of an episode; 0 = unknown
	Equal  bool    // the scores of all members are equal
}

// Report takes the results of the groups that were drawn and not yet reported, in order,
// for the iteration that played them.
func (s *Sampler) Report(iteration int, results []Result) {
	for k, r := range results {
		t := s.open[k]
		s.sets[t.source].known[t.index].add(r, iteration, s.cfg.Window)
		s.heard++
		if r.Equal {
			s.equal++
		}
	}
	s.open = s.open[:copy(s.open, s.open[len(results):])]
}

func (r *record) add(x Result, iteration, window int) {
	for _, solved := range x.Solved {
		r.results <<= 1
		if solved {
			r.results |= 1
		}
		r.n = uint8(min(int(r.n)+1, window))
	}
	r.results &= math.MaxUint64 >> (64 - window)
	r.last = uint32(iteration)
	if x.Cost > 0 {
		r.cost = x.Cost
	}
}

// solved returns how many of the latest episodes were solved.
func (r record) solved() int { return bits.OnesCount64(r.results) }

// rests reports whether a window of episodes was always or never solved.
func (r record) rests(window int) bool {
	k := r.solved()
	return int(r.n) == window && (k == 0 || k == window)
}

// promise returns p(1 − p) ÷ c with p = (solved + 1) ÷ (episodes + 2), which is 1/2 for a
// task that was never played. Its cost is then usual.
func (r record) promise(usual float64) float64 {
	p := float64(r.solved()+1) / float64(r.n+2)
	return p * (1 - p) / cmp.Or(r.cost, usual)
}

// promising returns n tasks of a source: first those that rest and are due, at most a
// quarter of n, the longest unplayed first; then tasks that do not rest, without
// replacement and with probabilities in proportion to their promise (Efraimidis and
// Spirakis 2006); then, if these are too few, the same once more; then resting ones, the
// longest unplayed first. If that is too little, all repeat in that order.
func (s *Sampler) promising(source, iteration, n int) []int {
	t := &s.sets[source]
	seed := s.seed.Path(byTask, uint64(source), t.drawn)
	usual := t.usual()
	key := make([]float64, t.size) // −ln(u) ÷ promise: the smallest n are the draw
	var active, resting []int
	for i, r := range t.known {
		if r.rests(s.cfg.Window) {
			resting = append(resting, i)
			continue
		}
		key[i] = -math.Log(1-seed.Child(uint64(i)).Uniform()) / r.promise(usual)
		active = append(active, i)
	}
	slices.SortStableFunc(active, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
	slices.SortStableFunc(resting, func(a, b int) int { return cmp.Compare(t.known[a].last, t.known[b].last) })
	due := 0
	for due < min(len(resting), (n+3)/4) && iteration-int(t.known[resting[due]].last) >= s.cfg.Revisit {
		due++
	}
	s.again += due
	order := slices.Concat(resting[:due], active, active, resting[due:])
	out := make([]int, n)
	for k := range out {
		out[k] = order[k%len(order)]
	}
	return out
}

// usual returns the mean cost of the tasks that have one, or 1.
func (t *set) usual() float64 {
	sum, n := 0.0, 0.0
	for _, r := range t.known {
		if r.cost > 0 {
			sum, n = sum+r.cost, n+1
		}
	}
	if n == 0 {
		return 1
	}
	return sum / n
}
