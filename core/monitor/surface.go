package monitor

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// surface measures what the outputs of different tasks have in common: which share of
// the scores one feature of their surface explains, and how much of their text is the
// same. A reward that asks for the task prefers other words in each task; an exploit is
// often the same in all of them.
//
// Everything is relative to the group, whose members have the same task. Time and
// memory are in proportion to the distinct words and pairs of the outputs.
type surface struct {
	length moments
	words  map[uint64]*moments // of the presence of a word
	spread float64             // sum of squared scores, relative to the means of their groups
	n      int                 // members of groups whose scores differ
	pairs  map[uint64]*seen
	outs   [][]uint64 // the distinct pairs of every output
	groups int

	members []member // of the current group
	count   map[uint64]presence
}

// moments are sums over outputs of a feature x and the score y, both relative to the
// means of their group.
type moments struct{ xy, xx float64 }

// seen counts the groups in which a pair occurs.
type seen struct{ groups, last int }

type member struct {
	words float64
	score float64
	terms []uint64
}

// presence is in how many members of a group a word occurs, and the sum of their scores,
// relative to the mean of the group.
type presence struct{ members, sum float64 }

func newSurface() *surface {
	return &surface{words: map[uint64]*moments{}, pairs: map[uint64]*seen{}, count: map[uint64]presence{}}
}

// add adds a member of the current group. It copies what it keeps.
func (s *surface) add(words int, score float64, vocabulary, pairs []uint64) {
	s.members = append(s.members, member{float64(words), score, append([]uint64(nil), vocabulary...)})
	for _, p := range pairs {
		switch at := s.pairs[p]; {
		case at == nil:
			s.pairs[p] = &seen{1, s.groups}
		case at.last < s.groups:
			at.groups, at.last = at.groups+1, s.groups
		}
	}
	s.outs = append(s.outs, append([]uint64(nil), pairs...))
}

func (s *surface) endGroup() {
	n := float64(len(s.members))
	var words, scores float64 // means
	for _, m := range s.members {
		words, scores = words+m.words/n, scores+m.score/n
	}
	clear(s.count)
	before := s.spread
	var order []uint64 // of first occurrence: sums have to be in the same order every time
	for _, m := range s.members {
		x, y := m.words-words, m.score-scores
		s.length.xy, s.length.xx, s.spread = s.length.xy+x*y, s.length.xx+x*x, s.spread+y*y
		for _, w := range m.terms {
			at, known := s.count[w]
			if !known {
				order = append(order, w)
			}
			s.count[w] = presence{at.members + 1, at.sum + y}
		}
	}
	for _, w := range order {
		at := s.count[w]
		if s.words[w] == nil {
			s.words[w] = new(moments)
		}
		s.words[w].xy += at.sum
		s.words[w].xx += at.members * (n - at.members) / n
	}
	if s.spread > before {
		s.n += len(s.members)
	}
	s.members = s.members[:0]
	s.groups++
}

// explained is the largest share of the variance of scores within groups that one
// feature explains: the number of words, or the presence of a word that goes with
// higher scores. The share that the best of so many features explains by chance does not
// count: about 2 ln(features) ÷ n.
func (s *surface) explained() float64 {
	if !(s.spread > 0) {
		return 0
	}
	most := s.length.share(s.spread)
	for _, m := range s.words {
		if m.xy > 0 {
			most = max(most, m.share(s.spread))
		}
	}
	chance := 2 * math.Log(float64(2+len(s.words))) / float64(s.n)
	return max(0, min(most, 1)-chance)
}

// share is the square of the correlation with the score.
func (m *moments) share(spread float64) float64 {
	if !(m.xx > 1e-9) {
		return 0
	}
	return m.xy * m.xy / (m.xx * spread)
}

// shared is the mean share of the pairs of an output that occur in at least half of the
// groups, if there are enough groups to compare.
func (s *surface) shared() float64 {
	const few = 4
	if s.groups < few {
		return 0
	}
	shares := make([]float64, len(s.outs))
	for i, pairs := range s.outs {
		for _, p := range pairs {
			if 2*s.pairs[p].groups >= s.groups {
				shares[i] += 1 / float64(len(pairs))
			}
		}
	}
	return stat.Mean(shares, nil)
}
