package prompt

import (
	"cmp"
	"slices"

	"github.com/merit-rl/merit/core/reward"
)

// How says how a candidate was made.
type How string

// The origins of candidates.
const (
	Start      How = "start"      // the user's prompt
	Edit       How = "edit"       // its parent, rewritten after a critique
	Paraphrase How = "paraphrase" // its parent, paraphrased
)

// Candidate is a prompt and its origin.
type Candidate struct {
	ID       int    `json:"id"` // 0 is the start; others in order of creation
	Text     string `json:"text"`
	How      How    `json:"how"`
	Parent   int    `json:"parent"`             // ID; −1 for the start
	Round    int    `json:"round"`              // round in which it was made; 0 for the start
	Critique string `json:"critique,omitempty"` // critique of its parent that led to the edit
	// Train is the score on all training tasks that the candidate played. Candidates played
	// different tasks, so the selection does not compare these numbers.
	Train Estimate `json:"train"`
	// Beams are the rounds after which the candidate was in the beam.
	Beams []int `json:"beams,omitempty"`
}

// worth is the evaluation of one answer.
type worth struct {
	outcome reward.Outcome
	score   float64 // valid if outcome is scored
	answer  string
	reason  string
}

// candidate is a Candidate during the search.
type candidate struct {
	Candidate
	train, held map[int]worth // by the index of the task in its list
}

// mean returns the mean score on tasks. If too many of them, or all, have no score, ok is
// false and the candidate cannot be ranked.
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

// rank returns the candidates of pool that can be ranked, best first, each by the given tasks.
// Equal candidates keep their order in pool, so that nothing changes without a reason.
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
