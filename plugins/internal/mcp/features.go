package mcp

import (
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/merit-rl/merit/sdk/plugin/tasks"
)

// buckets is the number of features for the words of a text.
const buckets = 128

// features returns the number of values that a network sees: the words of the task and of the
// last result, which choices were made, and whether the last call failed.
func features(choices int) int { return 2*buckets + choices + 1 }

// features returns what a network sees.
func (s *slot) features() []float32 {
	f := make([]float32, features(len(s.chosen)))
	words(f[:buckets], tasks.Key(s.task))
	words(f[buckets:2*buckets], s.last.Text)
	for i, made := range s.chosen {
		if made {
			f[2*buckets+i] = 1
		}
	}
	if s.last.IsError {
		f[len(f)-1] = 1
	}
	return f
}

// words marks the words and numbers of a text: each has a place by its hash, which it may
// share with others.
func words(f []float32, text string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word)) // never fails
		f[h.Sum32()%uint32(len(f))] = 1
	}
}
