// Package judge says whether what an agent did is what it was asked for: by
// the state that the world ends in, and by the calls that changed it.
package judge

import "github.com/merit-rl/merit/plugins/internal/toolbox/internal/world"

// Judge watches the effects of an episode.
type Judge struct {
	want    []world.Call
	ordered bool
	met     []bool // of want
	matched int
	effects int
}

// New returns the judge of a task: the effects that it wants, and whether they
// must come in this order.
func New(want []world.Call, ordered bool) Judge {
	return Judge{want: want, ordered: ordered, met: make([]bool, len(want))}
}

// See takes an effect and reports whether it was wanted, and still missing.
// With an order only the next one is.
func (j *Judge) See(effect world.Call) bool {
	j.effects++
	for i, w := range j.want {
		if j.met[i] {
			continue
		}
		if w == effect {
			j.met[i] = true
			j.matched++
			return true
		}
		if j.ordered {
			return false
		}
	}
	return false
}

// Met reports whether the effect number i was seen.
func (j *Judge) Met(i int) bool { return j.met[i] }

// Matched is how many of the wanted effects were seen.
func (j *Judge) Matched() int { return j.matched }

// Extra is how many effects were seen that were not wanted: side effects,
// even if they were undone.
func (j *Judge) Extra() int { return j.effects - j.matched }

// Clean reports whether exactly the wanted effects were seen.
func (j *Judge) Clean() bool { return j.matched == len(j.want) && j.Extra() == 0 }

// CallMatch is the wanted effects that were seen by all that were wanted or
// seen: 1 if and only if Clean.
func (j *Judge) CallMatch() float64 {
	if all := len(j.want) + j.Extra(); all > 0 {
		return float64(j.matched) / float64(all)
	}
	return 1
}
