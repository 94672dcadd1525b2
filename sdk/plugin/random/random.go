// Package random is the random number generator for environments. It is written
// out here because a seed must always give the same episode, even if a library
// changes.
package random

import "math/bits"

// Source is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Its value is its
// entire state: Source(seed) starts the sequence of a seed, and a copy
// continues like the original.
type Source uint64

// Next returns 64 random bits.
func (s *Source) Next() uint64 {
	*s += 0x9e3779b97f4a7c15
	return Mix(uint64(*s))
}

// Below returns a number in [0, n). Its bias is below n/2^64.
func (s *Source) Below(n int) int {
	high, _ := bits.Mul64(s.Next(), uint64(n))
	return int(high)
}

// Mix returns 64 bits that each depend on all of z. It is one-to-one: the
// finalizer of SplitMix64.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Hash returns 64 well-mixed bits of text: FNV-1a, whose upper bits are poor,
// followed by Mix.
func Hash(text []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range text {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return Mix(h)
}
