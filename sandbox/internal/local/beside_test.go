package local

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/language/javascript"
	"github.com/merit-rl/merit/sandbox/internal/language/python"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

const leaves = `
import os
from merit_reward._programs import Program
def reward(messages, ground_truth=None):
    ps = [Program(l) for l in ("python", "python", "javascript")]
    if ground_truth == "ends": ps[0].ask('{"do": "run", "source": "import os; os._exit(1)", "input": ""}', 10_000_000)
    if ground_truth == "traps": os.abort()
    if ground_truth == "exits": os._exit(0)
    if ground_truth == "raises": raise ValueError
    while ground_truth == "endless": pass
    if ground_truth == "endless inside": ps[1].ask('{"do": "run", "source": "while True: pass", "input": ""}', 1 << 60)
    return 1
`

// Promise: however an evaluation ends, every instance that it opened is given
// back, or freed if it was left in the midst of an exchange.
func TestProgramsAreGivenBack(t *testing.T) {
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	languages := source.Languages{python.New(interpreter.Folder()), javascript.New(interpreter.Folder())}
	b, err := New(Options{
		Isolation: Snapshot, Workers: 2, CacheDir: filepath.Join(filepath.Dir(interpreter.Folder()), "test"), CacheMiB: 512, InterpreterDir: interpreter.Folder(),
		Limits: limits.Limits{
			Fuel: 100_000_000, MemoryMiB: 64, TableEntries: 10_000, ModuleMiB: 32, InputMiB: 8, OutputKiB: 1024, LogKiB: 64, Steps: 1000, CallDepth: 10_000,
			WallClock: time.Minute, StartFuel: 1 << 40, StartWallClock: time.Hour, ScriptMiB: 128,
		},
	}, languages)
	require.NoError(t, err)
	defer b.Close()
	script := &source.Script{Language: languages[0], Name: "leaves", Entry: "reward.py", Files: map[string][]byte{"reward.py": []byte(leaves)}}
	m, err := b.Load(t.Context(), source.Source{Name: "leaves", Digest: script.Digest(languages), Script: script})
	require.NoError(t, err)
	defer m.Close(context.Background())
	counted := func() (pythons, scripts int) {
		return len(b.nested["python"].module.Load().pool.idle), len(b.nested["javascript"].module.Load().pool.idle)
	}
	for _, c := range []struct {
		truth string
		want  reward.Outcome
		kept  int // instances of Python
	}{
		{`"returns"`, reward.Scored, 2}, {`"raises"`, reward.GuestError, 2}, {`"traps"`, reward.Trap, 2}, {`"exits"`, reward.ABIViolation, 2},
		{`"endless"`, reward.OutOfFuel, 2}, {`"ends"`, reward.Scored, 1}, {`"returns"`, reward.Scored, 2}, {`"endless inside"`, reward.OutOfFuel, 1},
	} {
		e := m.Evaluate(t.Context(), &rl.Trajectory{ID: "t", Messages: []rl.Message{{Role: rl.RoleAssistant}}, GroundTruth: []byte(c.truth)}, nil)
		require.Equal(t, c.want, e.Outcome, e.Reason)
		pythons, scripts := counted()
		require.Equal(t, c.kept, pythons, c.truth)
		require.Equal(t, 1, scripts, c.truth)
		for _, w := range m.pool.idle {
			require.Empty(t, w.beside.open)
		}
		require.Empty(t, b.tokens)
	}
}
