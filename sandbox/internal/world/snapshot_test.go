package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// counting is a guest whose action 1 traps when it is taken for the third time in an episode.
func counting() tiny {
	const counter = 0x900
	next := wt.I32Const(counter) + wt.I32Const(counter) + wt.I32Load(0) + wt.I32Const(1) + wt.I32Add + wt.I32Store(0)
	return tiny{code: next + wt.I32Const(counter) + wt.I32Load(0) + wt.I32Const(3) + wt.I32GeU + wt.If(wt.Unreachable)}
}

// Promise: a slot that returns to a state continues from it, whatever happened to the slot since, and
// so does another slot that has not begun.
func TestStatesOfSlots(t *testing.T) {
	e, r := open(t, options(), counting().bytes(), 2), env.Reply{}
	require.True(t, e.Spec().Snapshots)
	do := func(op env.Op, only int) bool {
		b := all(e, env.Skip, 1)
		b.Ops[only] = op
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		return r.Flags[only]&env.Failed == 0
	}
	require.True(t, do(env.Reset, 0))
	require.True(t, do(env.Step, 0))
	state, err := e.Snapshot(t.Context(), 0)
	require.NoError(t, err)
	require.Less(t, len(state), 1000, "only what the episode changed")
	for range 3 {
		require.True(t, do(env.Step, 0))
		require.False(t, do(env.Step, 0), "the third time")
		require.NoError(t, e.Restore(t.Context(), 0, state))
	}
	require.NoError(t, e.Restore(t.Context(), 1, state))
	require.True(t, do(env.Step, 1))
	again, err := e.Snapshot(t.Context(), 1)
	require.NoError(t, err)
	require.NotEqual(t, state, again)
	require.False(t, do(env.Step, 1))
}

// Promise: a state of another module or other options, and one that was changed, is refused with
// the reason, and leaves a slot that a reset recovers; a slot without an episode has no state.
func TestWrongStates(t *testing.T) {
	e, r := open(t, options(), counting().bytes(), 2), env.Reply{}
	_, err := e.Snapshot(t.Context(), 0)
	require.ErrorContains(t, err, "slot 0 is not within an episode")
	_, err = e.Snapshot(t.Context(), 2)
	require.ErrorContains(t, err, "slot 2 does not exist")
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Step, 1), &r))
	state, err := e.Snapshot(t.Context(), 0)
	require.NoError(t, err)

	for i := 8; i < len(state); i++ {
		changed := append([]byte(nil), state...)
		changed[i] ^= 1
		require.Error(t, e.Restore(t.Context(), 1, changed), "byte %d", i)
		require.Error(t, e.Restore(t.Context(), 1, state[:i]), "%d bytes", i)
	}
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Step, 0), &r))
	require.NotZero(t, r.Flags[1]&env.Failed, "slot 1 waits for a reset")
	require.Zero(t, r.Flags[0]&env.Failed)
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
	require.Empty(t, r.Events)

	other := open(t, options(), tiny{code: wt.Unreachable}.bytes(), 1)
	require.ErrorIs(t, other.Restore(t.Context(), 0, state), fault.Of(fault.Sandbox, fault.Differs))

	tables := tiny{code: wt.RefNull(wt.FuncRef) + wt.I32Const(1) + wt.TableGrow(0) + wt.Drop, tables: []wt.Table{{Size: wt.Size{Min: 1, Max: 9}}}}
	without := open(t, options(), tables.bytes(), 1)
	require.False(t, without.Spec().Snapshots)
	require.ErrorIs(t, without.Restore(t.Context(), 0, state), fault.Of(fault.Sandbox, fault.Refused))
}
