package python_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// sandboxed is how a file is played in the sandbox, with the native code that other tests
// of the interpreter keep.
func sandboxed(t testing.TB, slots int, file string) host.Config {
	python := interpreter.Python()
	testneeds.File(t, "run: merit python install", python.Path(interpreter.Folder()))
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = "sandbox:"+file, slots
	cfg.Sandbox.CacheDir = filepath.Join(filepath.Dir(interpreter.Folder()), "test")
	return cfg
}

// player plays an environment by the names of its actions.
type player struct {
	env.Env
	t testing.TB
}

func (p player) exchange(b *env.Batch) env.Reply {
	var r env.Reply
	require.NoError(p.t, p.Exchange(p.t.Context(), b, &r))
	r.Events = append([]env.Event{}, slices.DeleteFunc(r.Events, func(e env.Event) bool { return e.Name == "env_fuel" })...)
	return r
}

func (p player) reset(want env.Want, seeds ...uint64) env.Reply {
	b := env.NewBatch(p.Spec())
	b.Want = want
	for i := range b.Ops {
		b.Ops[i], b.Seeds[i] = env.Reset, seeds[i%len(seeds)]
	}
	return p.exchange(b)
}

func (p player) step(want env.Want, action string) env.Reply {
	b := env.NewBatch(p.Spec())
	b.Want = want
	for i := range b.Ops {
		b.Ops[i], b.Actions[i] = env.Step, int32(slices.Index(p.Spec().Actions, action))
	}
	return p.exchange(b)
}

// forms opens plugin_tests/forms.py in the sandbox.
func forms(t testing.TB) player {
	cfg := sandboxed(t, 2, filepath.Join("plugin_tests", "forms.py"))
	cfg.Sandbox.Fuel = 200_000_000
	return player{open(t, cfg), t}
}

// Promise: a class says the same bytes in the sandbox as in a program: every form of a
// turn, and every error in one.
func TestSandboxSaysTheSame(t *testing.T) {
	program := player{open(t, environment(t, 2, filepath.Join("plugin_tests", "forms.py"))), t}
	inside := forms(t)
	spec := program.Spec()
	spec.Snapshots = true // in the sandbox, every environment has them
	require.Equal(t, spec, inside.Spec())
	impure := slices.Index(spec.Actions, "impure")
	for _, want := range []env.Want{env.WantText | env.WantFeatures, env.WantFeatures, 0} {
		for _, action := range spec.Actions[:impure] {
			require.Equal(t, program.reset(want, 5, 1<<63), inside.reset(want, 5, 1<<63), action)
			require.Equal(t, program.step(want, action), inside.step(want, action), action)
		}
	}
	for _, e := range []player{program, inside} {
		e.reset(0, 8)
		text, err := e.Env.(env.Renderer).Render(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, "seed 8", text)
	}
}

// Promise: in the sandbox nothing differs between slots, episodes and processes: not the
// clock, random numbers, hashes or addresses. A state continues in another instance.
func TestSandboxIsDeterministic(t *testing.T) {
	one, two := forms(t), forms(t)
	one.reset(0, 1)
	first := one.step(0, "impure")
	require.Equal(t, first.Anchor[0], first.Anchor[1])
	for _, e := range []player{one, two} {
		e.reset(0, 1)
		require.Equal(t, first, e.step(0, "impure"))
	}
	state, err := one.Env.(env.Snapshotter).Snapshot(t.Context(), 0)
	require.NoError(t, err)
	require.Less(t, len(state), 200<<10)
	two.reset(0, 4)
	for i := range 2 {
		require.NoError(t, two.Env.(env.Snapshotter).Restore(t.Context(), i, state))
	}
	require.Equal(t, one.step(3, "impure"), two.step(3, "impure"))
	require.Equal(t, one.step(3, "events"), two.step(3, "events"))
}

var line = regexp.MustCompile(`\.py:\d+`)

// Promise: what the sandbox refuses, and what breaks an interpreter, ends one episode and
// says what was wanted and where.
func TestSandboxFaults(t *testing.T) {
	deep := `RecursionError: maximum recursion depth exceeded`
	if interpreter.Python().Lacks() != "" {
		deep = `forms: trap: out of bounds memory access in the Python interpreter. Usually the recursion is too deep`
	}
	e := forms(t)
	for action, says := range map[string]string{
		"open":    `the environment tried to use a file that is not part of it: open('/etc/hostname'), at /environment/forms.py:N; run it as a program if it needs that`,
		"connect": `the environment tried to use the network: socket.getaddrinfo, at /environment/forms.py:N; run it as a program if it needs that`,
		"torch":   `the environment tried to import torch, which is not available in the sandbox, at /environment/forms.py:N; run it as a program if it needs that`,
		"exit":    `SystemExit: enough (forms.py:N)`,
		"memory":  `forms: out of memory`,
		"deep":    deep,
		"endless": `forms: out of fuel: to step it may use 200000000 units; raise sandbox.fuel`,
	} {
		e.reset(0, 1)
		r := e.step(0, action)
		require.Equal(t, []env.Flag{env.Failed, env.Failed}, r.Flags, action)
		said := line.ReplaceAllString(r.Events[0].Message, ".py:N")
		require.True(t, strings.HasPrefix(said, says), "%s: %s", action, said)
	}
	e.reset(0, 1)
	require.Equal(t, []env.Flag{0, 0}, e.step(0, "plain").Flags)
}

// Promise: options are checked as in a program, and a file that cannot run says why and
// that it can run as a program.
func TestSandboxRefusals(t *testing.T) {
	cfg := sandboxed(t, 1, filepath.Join("plugin_tests", "forms.py"))
	for options, says := range map[string]string{
		`{"fail": "check", "speed": 1}`: "options.speed: is not an option",
		`{"fail": "init"}`:              "RuntimeError: as asked",
		`{"fail": "refuse"}`:            "no such river",
	} {
		program := environment(t, 1, filepath.Join("plugin_tests", "forms.py"))
		program.Options, cfg.Options = json.RawMessage(options), json.RawMessage(options)
		_, err := host.Open(t.Context(), cfg)
		require.ErrorContains(t, err, says)
		_, native := host.Open(t.Context(), program)
		require.Equal(t, fault.As(native).Kind, fault.As(err).Kind)
		require.Equal(t, fault.As(native).Hint, fault.As(err).Hint)
	}
}

// Promise: a class with reset and step, which knows nothing of Merit, is an environment: in
// the sandbox without a line more, and as a program with a call of serve. Both say the same.
func TestPlainClass(t *testing.T) {
	walk := filepath.Join(testneeds.Root(), "examples", "walk", "walk.py")
	inside := player{open(t, sandboxed(t, 2, walk)), t}
	served := filepath.Join(t.TempDir(), "walk.py")
	text, err := os.ReadFile(walk)
	require.NoError(t, err)
	text = append(text, "\nimport merit_plugin\nmerit_plugin.serve(Walk, name='walk', version='0', summary='Walk out of a corridor.')\n"...)
	require.NoError(t, os.WriteFile(served, text, 0o600))
	program := player{open(t, environment(t, 2, served)), t}
	spec := program.Spec()
	spec.Snapshots = true
	require.Equal(t, spec, inside.Spec())
	require.Equal(t, []int{24}, spec.FeatureShape)
	require.Equal(t, program.reset(3, 1, 2), inside.reset(3, 1, 2))
	for over := false; !over; {
		said := program.step(3, "right")
		require.Equal(t, said, inside.step(3, "right"))
		over = slices.Contains(said.Flags, env.Terminated)
	}
}

// Promise: other shapes of such a class are understood, and one that says too little is
// told what is missing.
func TestPlainShapes(t *testing.T) {
	for class, want := range map[string]string{
		"class A:\n  action_space = ['up', 'down']\n  def reset(self): return (0, 1)\n  def step(self, a): return (len(a), 0.5), 1, a == 'down'\n":                                                                                               "4,0.500 4,0.500 1 1",
		"class A:\n  class action_space: n = 2\n  observation_space = 3\n  def reset(self): return 1\n  def step(self, a): return a + 1, 0, False, {'action_mask': [0, 1]}\n":                                                                    "2 2 0 0",
		"class A:\n  actions = ('a', 'b')\n  def reset(self, **kw): return {'x': kw['seed'], 'y': [[0.25, 1]]}, {}\n  def step(self, a): return 'said', 1, False, True, {}\n":                                                                    "said said 1 2",
		"class A:\n  def reset(self): return 0\n  def step(self, a): return 0, 0, True\n":                                                                                                                                                        "A says neither actions nor action_space",
		"class A:\n  def reset(self): pass\n  def step(self, a): pass\nclass B(A): pass\nclass C(A): pass\n":                                                                                                                                     "the file has several classes with reset and step (B, C); call merit_plugin.serve with one of them",
		"import numpy as np\nclass A:\n  actions = ('a', 'b')\n  def reset(self): return np.zeros((2, 1)), {}\n  def step(self, a): return np.array([[a], [0.5]]), np.float32(0.25), np.bool_(True), False, {'action_mask': np.ones(2, bool)}\n": "1.000,0.500 1.000,0.500 0.25 1",
		"import torch\n": "No module named 'torch'",
	} {
		file := filepath.Join(t.TempDir(), "a.py")
		require.NoError(t, os.WriteFile(file, []byte(class), 0o600))
		e, err := host.Open(t.Context(), sandboxed(t, 1, file))
		if strings.Contains(class, "numpy") && interpreter.Python().Lacks() != "" {
			require.ErrorContains(t, err, "No module named 'numpy'")
			continue
		}
		if err != nil {
			require.ErrorContains(t, err, want, class)
			continue
		}
		p := player{e, t}
		p.reset(3, 0)
		b := env.NewBatch(p.Spec())
		b.Ops[0], b.Actions[0], b.Want = env.Step, 1, env.WantText|env.WantFeatures
		r := p.exchange(b)
		require.Equal(t, want, fmt.Sprint(r.Anchor[0], " ", r.Text[0], " ", r.Reward[0], " ", r.Flags[0]), "%s %v", class, r.Events)
		require.NoError(t, e.Close())
	}
}

// Promise: an environment that changes what the host reads in its memory ends its own episode,
// at once or in the next step, and nothing else.
func TestSandboxForgers(t *testing.T) {
	e := player{open(t, sandboxed(t, 2, filepath.Join("plugin_tests", "forger.py"))), t}
	later := slices.Index(e.Spec().Actions, "no calls")
	for i, action := range e.Spec().Actions {
		e.reset(3, 1)
		b := env.NewBatch(e.Spec())
		b.Want = env.WantText | env.WantFeatures
		b.Ops[0], b.Actions[0] = env.Step, int32(i)
		b.Ops[1], b.Actions[1] = env.Step, int32(len(e.Spec().Actions)-1)
		r := e.exchange(b)
		require.Equal(t, i < later, r.Flags[0] == env.Failed, action)
		require.Equal(t, env.Flag(0), r.Flags[1], action)
		if i >= later {
			r = e.exchange(b) // it may fail now, with an error of this slot
			require.Equal(t, env.Flag(0), r.Flags[1], action)
		}
	}
	e.reset(3, 1)
	require.Equal(t, []string{"b", "b"}, e.step(3, "nothing wrong").Anchor)
}
