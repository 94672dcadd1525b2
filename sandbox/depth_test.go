package sandbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// nested scores after calls that are nested so deeply.
func nested(calls int32) []byte {
	m := counting.module()
	self := uint32(len(m.Imports) + len(m.Funcs))
	m.Funcs = append(m.Funcs, wt.Func{Params: wt.I32, Body: wt.LocalGet(0) + wt.If(wt.LocalGet(0)+wt.I32Const(1)+wt.I32Sub+wt.Call(self))})
	for i := range m.Funcs {
		if f := &m.Funcs[i]; f.Export == "merit_evaluate" {
			f.Body = wt.I32Const(calls) + wt.Call(self) + f.Body
		}
	}
	return m.Bytes()
}

// Promise: one bound holds for nested calls, compiled and interpreted: what is within call_depth ends with the same score and fuel,
// and what is beyond it with the same reason.
func TestCallDepthIsOneBound(t *testing.T) {
	for calls, want := range map[int32]reward.Outcome{9_000: reward.Scored, 11_000: reward.Trap} {
		var all []reward.Evaluation
		for _, interpreted := range []bool{false, true} {
			r := newRuntime(t, func(c *sandbox.Config) { c.Interpreter, c.Workers = interpreted, 1 })
			e := load(t, r, nested(calls)).Evaluate(context.Background(), small())
			require.Equal(t, want, e.Outcome, e.Reason)
			e.Elapsed = 0
			all = append(all, e)
		}
		require.Equal(t, all[0], all[1])
	}
	c := sandbox.DefaultConfig()
	c.Interpreter, c.CallDepth = true, 100_000
	require.Len(t, c.Validate(), 1, "an interpreted call takes stack of the process")
}
