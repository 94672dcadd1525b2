package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/stretchr/testify/require"
)

// Promise: inspecting says of a module what loading says, each problem on its
// own and with what to do, and runs nothing.
func TestInspectIsWhatLoadDecides(t *testing.T) {
	endless := func(m *wt.Module) { m.Funcs = append(m.Funcs, wt.Func{Export: "_initialize", Body: wt.Loop(wt.Br(0))}) }
	for _, c := range []struct {
		name     string
		wasm     []byte
		abi      string
		refused  bool
		problems []string
	}{
		{"a reward", guest{}.wasm(), "flat-1", false, nil},
		{"one that never starts", guest{change: endless}.wasm(), "flat-1", false, nil},
		{"nothing exported", wt.Module{}.Bytes(), "", false, []string{"merit_abi_1", "merit_alloc", "merit_evaluate", "memory"}},
		{"no memory exported", guest{change: func(m *wt.Module) { m.Memory.Export = "" }}.wasm(), "flat-1", false, []string{"memory"}},
		{"an import of another signature", guest{change: func(m *wt.Module) { m.Imports = append(m.Imports, wt.Import{Module: "merit_v1", Name: "set_score"}) }}.wasm(), "flat-1", false, []string{"set_score"}},
		{"an import that nobody offers", guest{change: func(m *wt.Module) { m.Imports = append(m.Imports, wt.Import{Module: "net", Name: "dial"}) }}.wasm(), "", true, []string{"dial"}},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), "", true, []string{"component"}},
		{"a script", []byte("def reward(messages): ..."), "", true, []string{"not a WebAssembly module"}},
	} {
		path := filepath.Join(t.TempDir(), "reward.wasm")
		require.NoError(t, os.WriteFile(path, c.wasm, 0o600))
		x, err := sandbox.Inspect(path, sandbox.DefaultConfig().Limits)
		require.NoError(t, err, c.name)
		require.Equal(t, []any{c.abi, c.refused}, []any{x.ABI, x.Refused}, c.name)
		require.Len(t, x.Problems, len(c.problems), "%s: %v", c.name, x.Problems)
		for i, p := range x.Problems {
			require.Contains(t, p.What, c.problems[i], c.name)
			require.NotEmpty(t, p.Hint, c.name)
			if c.name == "a component" {
				require.Contains(t, p.Hint, "build a core module")
			}
		}
		_, err = newRuntime(t, smallFuel).LoadFile(context.Background(), path)
		if c.name == "one that never starts" {
			continue // only running shows it
		}
		if len(c.problems) == 0 {
			require.NoError(t, err)
			require.NoError(t, x.Err())
			require.Contains(t, x.Exports, sandbox.Extern{Name: "merit_alloc", Type: "(i32) -> i32"})
			continue
		}
		require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused), c.name)
		require.ErrorIs(t, x.Err(), fault.Of(fault.Sandbox, fault.Refused), c.name)
		for _, p := range x.Problems {
			require.ErrorContains(t, err, p.What, c.name)
		}
	}
	_, err := sandbox.Inspect(filepath.Join(t.TempDir(), "nowhere.wasm"), sandbox.DefaultConfig().Limits)
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Missing))
}
