package ngram_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn/internal/ngram"
)

func encode(e *ngram.Encoder, text string) []float32 {
	x := make([]float32, 4096)
	e.Encode(x, text)
	return x
}

func nonZero(x []float32) (n int, square float64) {
	for _, v := range x {
		if v != 0 {
			n++
		}
		square += float64(v) * float64(v)
	}
	return n, square
}

// Promise: the vector counts exactly the n-grams of the configured lengths, has
// a fixed length, and does not keep what was in it.
func TestEncode(t *testing.T) {
	for _, c := range []struct {
		encoder *ngram.Encoder
		text    string
		want    int
	}{
		{ngram.New(1, 1, false), "abcab", 3},
		{ngram.New(2, 2, false), "abcab", 3},             // ab bc ca
		{ngram.New(1, 3, false), "abcab", 3 + 3 + 3},     // abc bca cab
		{ngram.New(1, 1, false), "äöä", 2},               // characters, not bytes
		{ngram.New(1, 2, true), "go  right\ngo left", 6}, // go right left, go·right right·go go·left
		{ngram.New(5, 9, false), "abc", 0},
		{ngram.New(1, 1, true), " \n", 0},
		{ngram.New(1, 1, false), "", 0},
		{ngram.New(1, 1, false), "\xff\xfe", 2}, // bytes that are not UTF-8 are units
	} {
		x := encode(c.encoder, c.text)
		n, square := nonZero(x)
		require.Equal(t, c.want, n, c.text)
		if n > 0 {
			require.InDelta(t, 24, square, 1e-4)
		}
		again := encode(c.encoder, "something else")
		c.encoder.Encode(again, c.text)
		require.Equal(t, x, again)
	}
}

// Promise: white space between words does not matter, their borders do.
func TestWordBorders(t *testing.T) {
	e := ngram.New(2, 2, true)
	require.Equal(t, encode(e, "ab c"), encode(e, "  ab\n c "))
	require.NotEqual(t, encode(e, "ab c"), encode(e, "a bc"))
}

// Promise: hashes spread over few dimensions and both signs.
func TestSpread(t *testing.T) {
	e, x := ngram.New(1, 1, false), make([]float32, 8)
	used, negative := map[int]bool{}, 0
	for r := 'a'; r <= 'z'; r++ {
		e.Encode(x, string(r))
		for i, v := range x {
			if v != 0 {
				used[i] = true
			}
			if v < 0 {
				negative++
			}
		}
	}
	require.Len(t, used, 8)
	require.InDelta(t, 13, negative, 8)
}
