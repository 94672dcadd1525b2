package local

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// startingPython imports, reads the clock and draws random numbers while it is loaded.
const startingPython = `
import collections, json, random, re, time
seen = [time.time(), random.random(), hash("x"), re.compile("a+").match("aa").end()]
def reward(messages):
    seen.append(time.time())
    return {"score": 1, "reason": repr(seen + [id(seen)]), "is_score_valid": True}
`

func startingSource() source.Source {
	script := &source.Script{Language: forkLanguages[0], Name: "starting", Entry: "reward.py", Files: map[string][]byte{"reward.py": []byte(startingPython)}}
	return source.Source{Name: "starting", Digest: script.Digest(forkLanguages), Script: script}
}

// forget replaces what the cache has under a name by what nobody can have written.
func forget(b *Backend, name string) { b.engine.Keep(name, []byte("neither a boot nor an origin")) }

// named returns a module that knows the names of its states.
func named(t *testing.T, b *Backend, s source.Source) *Module {
	m := b.newModule(s)
	program, err := b.Interpreter(t.Context(), m.by)
	require.NoError(t, err)
	program.Close(t.Context())
	m.program = program
	return m
}

// forgetBoot makes the next start of a script boot its interpreter.
func forgetBoot(t *testing.T, b *Backend, s source.Source) {
	forget(b, named(t, b, s).bootName())
	b.boots.close()
	b.boots.known = nil
}

// started loads a reward of which the cache has no state, and returns the state after its
// start, with the fuel and the reason of an evaluation.
func started(t *testing.T, b *Backend, s source.Source) (state []byte, fuel uint64, reason string) {
	m := named(t, b, s)
	forget(b, m.originName(false))
	forget(b, m.originName(true))
	m, err := b.Load(t.Context(), s)
	require.NoError(t, err)
	defer m.Close(context.Background())
	pieces, ok := m.origin.pieces()
	require.True(t, ok)
	state = bytes.Join(pieces, nil)
	e := m.Evaluate(t.Context(), &rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("x")}}}, nil)
	return state, e.Fuel, e.Result.Reason
}

// Promise: a script starts in the same bytes, and evaluates with the same fuel, whether its
// interpreter boots anew, was booted for another script of this process, or by an earlier
// process. What the cache has under the name of a boot and is none changes nothing.
func TestBootedInterpretersAreTheSame(t *testing.T) {
	testneeds.NotShort(t)
	b, s := forkBackend(t, false), startingSource()
	forgetBoot(t, b, s)
	state, fuel, reason := started(t, b, s)
	m := named(t, b, s)
	require.NotNil(t, m.recallBoot(m.bootName()), "it is in the cache")
	for name, b := range map[string]*Backend{"for another script": b, "by another process": forkBackend(t, false)} {
		again, fuel2, reason2 := started(t, b, s)
		require.True(t, string(state) == string(again), "booted %s, the state differs", name)
		require.Equal(t, fuel, fuel2)
		require.Equal(t, reason, reason2)
	}
}

// Promise: the interpreters that Merit pins are valid modules, so that nobody has to
// validate them again, which takes a second.
func TestInterpretersAreValid(t *testing.T) {
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
		module, _, err := i.Open(interpreter.Folder())
		require.NoError(t, err)
		require.NoError(t, engine.Validate(t.Context(), module), i.Title)
	}
}

// Promise: the fuel of a boot counts for every start, also for one that finds the
// interpreter booted.
func TestBootsCountForEveryStart(t *testing.T) {
	testneeds.NotShort(t)
	b, s := forkBackend(t, false), startingSource()
	_, _, _ = started(t, b, s)
	var boot uint64
	for _, known := range b.boots.known {
		boot = known.fuel
	}
	require.NotZero(t, boot)
	fails := func() string {
		_, err := b.Load(t.Context(), s)
		require.Error(t, err)
		return err.Error()
	}
	for _, budget := range []uint64{boot - 1, boot + 1000} {
		b.options.Fuel, b.options.StartFuel, b.options.StartWallClock = 1000, budget, time.Hour
		booted := fails()
		require.Contains(t, booted, "its imports and its warm-up used up the fuel of a start")
		forgetBoot(t, b, s)
		require.Equal(t, fails(), booted)
	}
}
