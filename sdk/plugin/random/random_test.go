package random_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/plugin/random"
)

// Promise: the numbers of a seed are those of SplitMix64. The vector is the
// published one of seed 1234567 (Vigna's splitmix64.c, as in Rosetta Code's
// "Pseudo-random numbers/Splitmix64").
func TestSplitMix(t *testing.T) {
	s := random.Source(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		require.Equal(t, want, s.Next())
	}
}

// Promise: numbers below n are all met, and about equally often.
func TestBelow(t *testing.T) {
	s := random.Source(7)
	var met [6]int
	for range 60000 {
		met[s.Below(len(met))]++
	}
	for n, times := range met {
		require.InDelta(t, 10000, times, 500, "%d", n) // deviation 91: more than five of them
	}
}

// Promise: FNV-1a of "foobar" is its published 85944171f73967e8, behind Mix.
func TestHash(t *testing.T) {
	require.Equal(t, random.Mix(0x85944171f73967e8), random.Hash([]byte("foobar")))
}
