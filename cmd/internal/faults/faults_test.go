package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// expected is what a run with a fault comes to: as what it is noticed, in the
// words of the error, and as what the run ends if every process has it.
var expected = map[string]struct {
	kind fault.Kind // "" = the run does not notice
	says string
}{
	"crash":        {fault.Crashed, "chaos: died during a batch: exit status 7; its last output:\n    | the levels are gone"},
	"panic":        {fault.Crashed, "| panic: index out of luck"},
	"hang":         {fault.Timeout, "gave no answer within 2s during a batch and was killed"},
	"SIGSTOP":      {fault.Timeout, "gave no answer within 2s during a batch and was killed"},
	"flood":        {"", ""},
	"shape":        {fault.Protocol, "chaos: reward: the column has 63 bytes, not 8 rows of 8 bytes"},
	"NaN":          {fault.Protocol, "has the reward NaN"},
	"unknown slot": {fault.Protocol, "slot 8"},
	"garbage":      {fault.Protocol, "sent an invalid message during a batch"},
	"old protocol": {fault.Protocol, "the plug-in uses protocol version 99, but this merit uses 1"},
	"memory":       {fault.Crashed, "out of memory"},
	"slow start":   {fault.Timeout, "gave no answer within 6s at its start"},
}

// Promise: whatever a plug-in does once in a training is one typed failure,
// which says what happened; the episodes that it cost are played again, and the
// run ends with the bytes of the run without it. Whatever it does in every
// process ends the run with that failure, or leaves no trace.
func TestFaults(t *testing.T) {
	testneeds.Slow(t, "trains beside every fault of a plug-in")
	folder := t.TempDir()
	p, err := build(t.Context(), folder)
	require.NoError(t, err)
	want, err := train(t.Context(), p, injected{fault: none, groups: 4}, false, t.TempDir())
	require.NoError(t, err)
	require.NoError(t, want.err)
	require.Greater(t, len(want.files), 5)
	require.Len(t, expected, len(injections))
	for _, i := range injections {
		t.Run(i.fault, func(t *testing.T) {
			t.Parallel()
			expect := expected[i.fault]
			once, err := train(t.Context(), p, i, false, t.TempDir())
			require.NoError(t, err)
			require.NoError(t, once.err)
			require.Zero(t, once.lost)
			require.Equal(t, want.files, once.files)
			if expect.kind != "" {
				require.Positive(t, once.episodes)
				require.Positive(t, once.recovered)
				requireOne(t, once.failures, expect.kind, expect.says)
			}
			always, err := train(t.Context(), p, i, true, t.TempDir())
			require.NoError(t, err)
			if expect.kind == "" {
				require.NoError(t, always.err)
				require.Equal(t, want.files, always.files)
				return
			}
			require.ErrorIs(t, always.err, fault.Of(fault.Plugin, expect.kind), "%v", always.err)
			require.ErrorContains(t, always.err, "failed 4 times in a row without finishing an episode")
			require.ErrorContains(t, always.err, expect.says)
		})
	}
}

// requireOne holds one of the failures to what is expected. A busy machine may
// add others, for being late.
func requireOne(t *testing.T, failures []error, kind fault.Kind, says string) {
	t.Helper()
	require.True(t, slices.ContainsFunc(failures, func(err error) bool {
		return errors.Is(err, fault.Of(fault.Plugin, kind)) && strings.Contains(err.Error(), says)
	}), "%v", failures)
}
