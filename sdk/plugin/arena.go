package plugin

import (
	"bytes"
	"slices"
)

// arena collects the texts of a batch in one allocation.
type arena struct {
	bytes []byte
	ends  []int
}

func (a *arena) clear() { a.bytes, a.ends = a.bytes[:0], a.ends[:0] }

func (a *arena) add(text []byte) {
	a.bytes = append(a.bytes, text...)
	a.ends = append(a.ends, len(a.bytes))
}

// equal reports whether a and b contain the same texts.
func (a *arena) equal(b *arena) bool {
	return bytes.Equal(a.bytes, b.bytes) && slices.Equal(a.ends, b.ends)
}

// strings sets texts to the first texts of a. They share memory that is never
// written again.
func (a *arena) strings(texts []string) {
	if len(texts) == 0 {
		return
	}
	whole, start := string(a.bytes), 0
	for i := range texts {
		texts[i] = whole[start:a.ends[i]]
		start = a.ends[i]
	}
}

// resize returns s with length n. It keeps the memory of s if that is large
// enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
