package prompt

import (
	"cmp"
	"slices"

	"github.com/merit-rl/merit/core/reward"
)

// How says where a candidate comes from.
type How string

// The closed set of origins.
const (
	Start      How = "start"      // what the user wrote
	Edit       How = "edit"       // its parent, rewritten after a critique
	Paraphrase How = "paraphrase" // its parent in other words
)

// Candidate is a prompt and where it comes from.
type Candidate struct {
	ID       int    `json:"id"` // 0 is the start; others in order of their making
	Text     string `json:"text"`
	How      How    `json:"how"`
	Parent   int    `json:"parent"`             // ID; −1 of the start
	Round    int    `json:"round"`              // in which it was made; 0 of the start
	Critique string `json:"critique,omitempty"` // of its parent, which the edit answers
	// Train is what it scored on all training tasks that it played. Candidates
	// played other tasks, so these numbers are not what decided.
	Train Estimate `json:"train"`
	// Beams are the rounds after which it stood in the beam.
	Beams []int `json:"beams,omitempty"`
}

// worth is what one answer was worth.
type worth struct {
	outcome reward.Outcome
	score   float64 // if outcome is scored
	answer  string
	reason  string
}

// candidate is a Candidate during the search.
type candidate struct {
	Candidate
	train, held map[int]worth // by the task's place in its list
}

// mean is the mean score on tasks. It is not ok if too many of them, or all,
// have no score: such a candidate has no rank.
func (c *candidate) mean(tasks []int, maxUnscored float64) (mean float64, ok bool) {
	n := 0
	for _, i := range tasks {
		if w := c.train[i]; w.outcome == reward.Scored {
			mean += w.score
			n++
		}
	}
	if n == 0 || float64(len(tasks)-n) > maxUnscored*float64(len(tasks)) {
		return 0, false
	}
	return mean / float64(n), true
}

// rank returns those of pool that have a rank on the tasks that each is looked
// at by, best first. Of equals the one that stands first in pool stays first:
// nothing changes without a reason.
func (s *search) rank(pool []*candidate, tasks func(*candidate) []int) []*candidate {
	type ranked struct {
		c    *candidate
		mean float64
	}
	var list []ranked
	for _, c := range pool {
		if mean, ok := c.mean(tasks(c), s.MaxUnscored); ok {
			list = append(list, ranked{c, mean})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.mean, a.mean) })
	out := make([]*candidate, len(list))
	for i, r := range list {
		out[i] = r.c
	}
	return out
}
