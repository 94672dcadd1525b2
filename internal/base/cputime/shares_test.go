package cputime_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/cputime"
)

// burn uses CPU time, as measured.
func burn(seconds float64) {
	for began := cputime.Seconds(); cputime.Seconds() < began+seconds; {
	}
}

// Promise: the CPU time of a process is divided among what it does at the same time: the shares
// add up to what was used, and time between pieces belongs to none.
func TestShares(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	var s cputime.Shares
	began := cputime.Seconds()
	first := s.Begin()
	burn(0.1)
	second := s.Begin()
	burn(0.1)
	a := first()
	burn(0.1)
	b := second()
	used := cputime.Seconds() - began
	require.InDelta(t, used, a+b, 0.02)
	require.InDelta(t, 0.15, a, 0.05)
	require.InDelta(t, 0.15, b, 0.05)
	burn(0.1)
	require.Less(t, s.Begin()(), 0.05, "idle time is nobody's")
}

// Promise: what others used for this process counts.
func TestAdd(t *testing.T) {
	began := cputime.Seconds()
	cputime.Add(1000)
	require.InDelta(t, 1000, cputime.Seconds()-began, 100)
}
