package advantage

import "math"

// Ratio returns the similarity of two texts by Ratcliff and Obershelp: twice
// the number of code points in matching blocks over the sum of lengths, 1 for
// two empty texts. It equals Python's difflib.SequenceMatcher(None, a, b)
// .ratio(), which is not symmetric and, if b has 200 code points or more,
// starts no match at a code point that makes up more than 1 % of b, plus one.
//
// Source: difflib of the Python standard library (find_longest_match,
// get_matching_blocks, autojunk).
func Ratio(a, b string) float64 {
	m, work := newMatcher([]rune(b)), work(math.MaxInt64)
	return m.ratio([]rune(a), &work)
}

// matcher compares texts with one text b.
type matcher struct {
	b        []rune
	where    map[rune][]int32 // positions in b, ascending; without popular code points
	count    map[rune]int32   // of every code point of b
	old, cur []int32          // length of the match that ends at position j−1 of b
}

const (
	popularFrom  = 200 // length from which popular code points start no match
	popularShare = 100 // more often than once in so many, plus one
)

func newMatcher(b []rune) matcher {
	m := matcher{b: b, where: make(map[rune][]int32), count: make(map[rune]int32),
		old: make([]int32, len(b)+1), cur: make([]int32, len(b)+1)}
	for j, r := range b {
		m.where[r] = append(m.where[r], int32(j))
	}
	limit := len(b)/popularShare + 1
	for r, at := range m.where {
		m.count[r] = int32(len(at))
		if len(b) >= popularFrom && len(at) > limit {
			delete(m.where, r)
		}
	}
	return m
}

// atLeast reports whether ratio(a) ≥ threshold. Two upper bounds of the ratio,
// by lengths and by counts of code points, answer most unlike texts at once.
// When left is used up the answer means nothing.
func (m *matcher) atLeast(a []rune, threshold float64, left *work) bool {
	*left -= perPair
	if quotient(min(len(a), len(m.b)), a, m.b) < threshold {
		return false
	}
	*left -= perPoint * work(len(a)+len(m.count))
	if quotient(m.common(a), a, m.b) < threshold {
		return false
	}
	return m.ratio(a, left) >= threshold
}

// common counts the code points that a and b share, order aside.
func (m *matcher) common(a []rune) int {
	used := make(map[rune]int32, len(m.count))
	n := 0
	for _, r := range a {
		if used[r] < m.count[r] {
			used[r]++
			n++
		}
	}
	return n
}

func quotient(matches int, a, b []rune) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	return 2 * float64(matches) / float64(len(a)+len(b))
}

// span is a part of a and a part of b that are still to be matched.
type span struct{ alo, ahi, blo, bhi int }

func (m *matcher) ratio(a []rune, left *work) float64 {
	todo := []span{{0, len(a), 0, len(m.b)}}
	matches := 0
	for len(todo) > 0 && *left >= 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		i, j, k := m.longest(a, s, left)
		if k == 0 {
			continue
		}
		matches += k
		if s.alo < i && s.blo < j {
			todo = append(todo, span{s.alo, i, s.blo, j})
		}
		if i+k < s.ahi && j+k < s.bhi {
			todo = append(todo, span{i + k, s.ahi, j + k, s.bhi})
		}
	}
	return quotient(matches, a, m.b)
}

// longest returns the start in a, the start in b and the length of the longest
// matching block inside s: the earliest in a, then the earliest in b. Popular
// code points start no match but extend one.
func (m *matcher) longest(a []rune, s span, left *work) (int, int, int) {
	bi, bj, size := s.alo, s.blo, 0
	for i := s.alo; i < s.ahi && *left >= 0; i++ {
		places := m.where[a[i]]
		*left -= perPoint + work(len(places))
		for _, j := range places {
			if int(j) < s.blo {
				continue
			}
			if int(j) >= s.bhi {
				break
			}
			k := m.old[j] + 1
			m.cur[j+1] = k
			if int(k) > size {
				bi, bj, size = i-int(k)+1, int(j)-int(k)+1, int(k)
			}
		}
		m.old, m.cur = m.cur, m.old
		if i > s.alo {
			m.forget(m.cur, a[i-1])
		}
	}
	if s.ahi > s.alo {
		m.forget(m.old, a[s.ahi-1])
	}
	for bi > s.alo && bj > s.blo && a[bi-1] == m.b[bj-1] {
		bi, bj, size = bi-1, bj-1, size+1
	}
	for bi+size < s.ahi && bj+size < s.bhi && a[bi+size] == m.b[bj+size] {
		size++
	}
	return bi, bj, size
}

// forget zeroes the lengths that the positions of r left behind.
func (m *matcher) forget(lengths []int32, r rune) {
	for _, j := range m.where[r] {
		lengths[j+1] = 0
	}
}
