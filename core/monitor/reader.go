package monitor

import (
	"slices"
	"unicode"

	"github.com/merit-rl/merit/core/rl"
)

// reading holds the measurements of a trajectory.
type reading struct {
	env      float64 // sum of the environment's own rewards
	revisits int     // steps in a state that it had been in
	words    int
	distinct float64 // the share of distinct pairs among consecutive words
	said     uint64  // digest of the whole output
}

// repeated is the share of repetition in the episode: of its words or, if it has
// no text, of its states.
func (r reading) repeated(steps int) float64 {
	if r.words > 0 {
		return 1 - r.distinct
	}
	return float64(r.revisits) / float64(max(1, steps))
}

// reader reads trajectories. It keeps its memory from one to the next.
type reader struct {
	states map[string]bool
	words  []uint64
}

func (r *reader) read(t *rl.Trajectory) (got reading) {
	if r.states == nil {
		r.states = map[string]bool{}
	}
	clear(r.states)
	r.words = r.words[:0]
	for i := range t.Steps {
		s := &t.Steps[i]
		got.env += s.EnvReward
		if s.Anchor != "" {
			if r.states[s.Anchor] {
				got.revisits++
			}
			r.states[s.Anchor] = true
		}
		if s.Action.Kind != rl.ActionChoice {
			r.text(s.Action.Text)
			for _, call := range s.Action.ToolCalls {
				r.text(call.Function.Name)
				r.text(call.Function.Arguments)
			}
		}
	}
	got.words = len(r.words)
	got.distinct = 1
	got.said = offset
	for _, w := range r.words {
		got.said = mix(got.said, w)
	}
	if n := len(r.words) - 1; n > 0 {
		for i := range n {
			r.words[i] = mix(r.words[i]*prime, r.words[i+1]) // a pair has an order
		}
		pairs := r.words[:n]
		slices.Sort(pairs)
		got.distinct = float64(len(slices.Compact(pairs))) / float64(n)
	}
	return got
}

// FNV-1a, 64 bits.
const offset, prime = 14695981039346656037, 1099511628211

func mix(digest, x uint64) uint64 { return (digest ^ x) * prime }

// text appends the digests of the words of s: runs of letters and digits,
// without regard to case.
func (r *reader) text(s string) {
	word, in := uint64(offset), false
	for _, c := range s {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			if in {
				r.words = append(r.words, word)
			}
			word, in = offset, false
			continue
		}
		word, in = mix(word, uint64(unicode.ToLower(c))), true
	}
	if in {
		r.words = append(r.words, word)
	}
}
