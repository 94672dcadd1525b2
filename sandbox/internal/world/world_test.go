package world

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/source"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// Where the guest of these tests has its blocks and texts.
const (
	atDescribe  = 0x100
	atConfigure = 0x110
	atGood      = 0x200
	atBad       = 0x300
	atEvents    = 0x380
	atTexts     = 0x400
	atRoom      = 0x8000
)

var (
	description = `{"name": "tiny", "version": "1", "summary": "s", "options": {}}`
	spec        = `{"actions": ["go", "break"], "feature_shape": [3]}`
)

// tiny is a guest with two actions, 0, which answers the good turn, and 1, which runs code
// or answers the bad one.
type tiny struct {
	bad      []byte  // of a Turn, at atBad
	code     wt.Code // runs for action 1
	describe []byte  // an Answer; nil for a good one
	spec     string
	imports  []wt.Import
	tables   []wt.Table
	without  string // an export to leave out
	events   []byte
	render   wt.Code // if not empty, what merit_render runs
}

func answer(failed, at, size uint32) string { return string(words(failed, at, size)) }

func words(list ...uint32) (b []byte) {
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// turn is a good Turn, with words changed by their offset.
func turn(reward float64, changed map[int]uint32) []byte {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(reward))
	b = append(b, words(0, 0, atTexts, 2, 0, 0, atTexts+0x10, 3, atTexts+0x20, 2, atEvents, 0)...)
	for at, w := range changed {
		binary.LittleEndian.PutUint32(b[at:], w)
	}
	return b
}

func (g tiny) bytes() []byte {
	if g.spec == "" {
		g.spec = spec
	}
	if g.describe == nil {
		g.describe = []byte(answer(0, 0x1000, uint32(len(description))))
	}
	if g.bad == nil {
		g.bad = turn(0, nil)
	}
	if g.events == nil {
		g.events = words(2, atTexts, 2, 0x500, 4)
	}
	features := string(words(math.Float32bits(1), math.Float32bits(0.5), math.Float32bits(float32(math.Inf(1)))))[:12]
	texts := "ab\xff\x00............" + string(words(math.Float32bits(1), math.Float32bits(0), 0)) + "...." + "\x01\x00\x02\x00"
	p := uint32(len(g.imports))
	funcs := []wt.Func{
		{Export: block.Mark},
		{Export: block.Alloc, Params: wt.I32, Results: wt.I32, Body: wt.I32Const(atRoom)},
		{Export: block.Describe, Results: wt.I32, Body: wt.I32Const(atDescribe)},
		{Export: block.Configure, Params: wt.I32 + wt.I32, Results: wt.I32, Body: wt.I32Const(atConfigure)},
		{Export: block.Reset, Params: wt.I64 + wt.I32, Results: wt.I32, Body: wt.I32Const(atGood)},
		{Export: block.Step, Params: wt.I32 + wt.I32 + wt.I32 + wt.I32, Results: wt.I32, Body: wt.LocalGet(0) + wt.If(g.code+wt.I32Const(atBad)+wt.Return) + wt.I32Const(atGood)},
		{Params: "", Body: wt.Call(p + 6)}, // endless recursion
	}
	if g.render != "" {
		funcs = append(funcs, wt.Func{Export: block.Render, Results: wt.I32, Body: g.render})
	}
	for i := range funcs {
		if funcs[i].Export == g.without {
			funcs[i].Export += "_"
		}
	}
	return wt.Module{
		Imports: g.imports, Funcs: funcs, Tables: g.tables, Memory: &wt.Memory{Export: "memory", Size: wt.Size{Min: 1}},
		Data: []wt.Data{
			{Offset: atDescribe, Bytes: string(g.describe)}, {Offset: atConfigure, Bytes: answer(0, 0x2000, uint32(len(g.spec)))},
			{Offset: atGood, Bytes: string(turn(0, nil))}, {Offset: atBad, Bytes: string(g.bad)}, {Offset: atEvents, Bytes: string(g.events)},
			{Offset: atTexts, Bytes: texts}, {Offset: 0x500, Bytes: "null{\"1\"}NaN"}, {Offset: 0x600, Bytes: features},
			{Offset: 0x1000, Bytes: description}, {Offset: 0x2000, Bytes: g.spec},
		},
	}.Bytes()
}

func options() local.Options {
	return local.Options{Isolation: local.Snapshot, Workers: 2, Limits: limits.Limits{
		Fuel: 10_000_000, MemoryMiB: 4, TableEntries: 10_000, ModuleMiB: 32, InputMiB: 8, OutputKiB: 1024, LogKiB: 64, CallDepth: 10_000,
		WallClock: time.Minute, StartFuel: 100_000_000, StartWallClock: time.Hour, ScriptMiB: 128,
	}}
}

// load loads a module; what it holds is freed with the test.
func load(t testing.TB, o local.Options, wasm []byte) (*Module, error) {
	b, err := local.New(o, nil)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	m, err := Load(t.Context(), b, o, source.Module("tiny", wasm))
	if err == nil {
		t.Cleanup(m.Close)
	}
	return m, err
}

func open(t testing.TB, o local.Options, wasm []byte, slots int) *Environment {
	m, err := load(t, o, wasm)
	require.NoError(t, err)
	e, err := m.Open(t.Context(), wire.Configuration{Slots: slots, Split: "train"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// all gives every slot an operation and an action.
func all(e *Environment, op env.Op, action int32) *env.Batch {
	b := env.NewBatch(e.Spec())
	for i := range b.Ops {
		b.Ops[i], b.Actions[i], b.Want = op, action, env.WantFeatures|env.WantText
	}
	return b
}

var faults = []struct {
	name  string
	guest tiny
	says  string
}{
	{"trap", tiny{code: wt.Unreachable}, "tiny: trap: unreachable; correct the environment"},
	{"division", tiny{code: wt.I32Const(1) + wt.I32Const(0) + wt.I32DivS + wt.Drop}, "tiny: trap: integer divide by zero"},
	{"endless loop", tiny{code: wt.Loop(wt.Br(0))}, "tiny: out of fuel: to step it may use 10000000 units; raise sandbox.fuel"},
	{"memory", tiny{code: wt.I32Const(1000) + wt.MemoryGrow + wt.Drop + wt.Unreachable}, "tiny: out of memory: it was refused more, and stopped: unreachable; raise sandbox.memory_mib"},
	{"recursion", tiny{code: wt.Call(6)}, "tiny: out of stack"},
	{"exit", tiny{imports: []wt.Import{{Module: "wasi_snapshot_preview1", Name: "proc_exit", Params: wt.I32}}, code: wt.I32Const(3) + wt.Call(0)}, "tiny: it exited with status 3 instead of returning"},
	{"turn outside", tiny{code: wt.I32Const(-8) + wt.Return}, "bad output: the turn is at 4294967288, outside of its memory"},
	{"reward NaN", tiny{bad: turn(math.NaN(), nil)}, "bad output: the reward is NaN, not a finite number"},
	{"reward infinite", tiny{bad: turn(math.Inf(-1), nil)}, "bad output: the reward is -Inf"},
	{"flags", tiny{bad: turn(0, map[int]uint32{8: 1 << 9})}, "bad output: the flags 0x200 have unknown bits"},
	{"failed alone", tiny{bad: turn(0, map[int]uint32{8: 4})}, "bad output: the slot failed, but no event says why"},
	{"anchor outside", tiny{bad: turn(0, map[int]uint32{16: 0xfffffff0})}, "the bytes of the anchor at 4294967280, of 2 bytes, are outside of its memory"},
	{"anchor long", tiny{bad: turn(0, map[int]uint32{20: 1 << 24})}, "are outside of its memory"},
	{"anchor not UTF-8", tiny{bad: turn(0, map[int]uint32{20: 3})}, "bad output: the bytes of the anchor are not UTF-8"},
	{"text not UTF-8", tiny{bad: turn(0, map[int]uint32{24: atTexts + 2, 28: 1})}, "bad output: the bytes of the text are not UTF-8"},
	{"features few", tiny{bad: turn(0, map[int]uint32{36: 2})}, "bad output: there are 2 features, not 3"},
	{"features many", tiny{bad: turn(0, map[int]uint32{36: math.MaxUint32})}, "bad output: the features have 4294967295 rows"},
	{"features infinite", tiny{bad: turn(0, map[int]uint32{32: 0x600})}, "bad output: a feature is not a finite number"},
	{"mask short", tiny{bad: turn(0, map[int]uint32{44: 1})}, "bad output: the mask has 1 bytes, not one for each of 2 actions"},
	{"mask 2", tiny{bad: turn(0, map[int]uint32{40: atTexts + 0x22})}, "bad output: action 0 has 2 in the mask, neither 0 nor 1"},
	{"mask empty", tiny{bad: turn(0, map[int]uint32{40: atTexts + 0x23, 44: 1})}, "bad output: the mask has 1 bytes"},
	{"no action", tiny{bad: turn(0, map[int]uint32{40: 0x700})}, "bad output: the episode continues but no action is available"},
	{"events many", tiny{bad: turn(0, map[int]uint32{52: 65})}, "bad output: there are 65 events in one turn, more than 64"},
	{"event unknown", tiny{bad: turn(0, map[int]uint32{52: 1}), events: words(9, 0, 0, 0, 0)}, "bad output: an event has the unknown kind 9"},
	{"info", tiny{bad: turn(0, map[int]uint32{52: 1}), events: words(2, atTexts, 2, 0x504, 5)}, `bad output: the info "ab" is not JSON`},
	{"metric", tiny{bad: turn(0, map[int]uint32{52: 1}), events: words(3, atTexts, 2, 0x509, 3)}, "bad output: the metric ab is NaN, not a finite number"},
	{"task", tiny{bad: turn(0, map[int]uint32{52: 1}), events: words(4, 0, 0, 0x500, 4)}, "bad output: the slot set a task in the middle of an episode"},
}

// Promise: what a guest does wrong is the failure of its slot, with the reason and what to
// do. Other slots continue, the failed one waits for a reset, and the reset recovers it.
func TestFaultsEndOneEpisode(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			e, r := open(t, options(), f.guest.bytes(), 20), env.Reply{}
			require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
			b := all(e, env.Step, 0)
			b.Actions[3] = 1
			for again := range 2 {
				require.NoError(t, e.Exchange(t.Context(), b, &r))
				for i, flags := range r.Flags {
					require.Equal(t, i == 3, flags&env.Failed != 0, i)
					require.Equal(t, i == 3, r.Anchor[i] == "", i)
				}
				require.Len(t, r.Events, 2-again)
				if again == 0 {
					require.Equal(t, env.Event{Slot: 3, Kind: env.EventMetric, Name: Metric, Message: r.Events[0].Message}, r.Events[0], "the fuel so far")
				}
				require.Equal(t, env.EventError, r.Events[1-again].Kind)
				require.Contains(t, r.Events[1-again].Message, f.says)
				require.Zero(t, r.Reward[3])
				require.Equal(t, []float32{0, 0, 0}, r.Features[9:12])
				f.says = "the slot was stepped after it failed; reset it first"
			}
			b.Ops[3] = env.Reset
			require.NoError(t, e.Exchange(t.Context(), b, &r))
			require.Empty(t, r.Events)
			require.Equal(t, "ab", r.Anchor[3])
			require.Equal(t, []float32{1, 0, 0}, r.Features[9:12])
			require.Equal(t, []byte{1, 0}, r.Mask[6:8])
		})
	}
}

// Promise: a module that changes a table, which a snapshot cannot hold, gets a new instance
// for each episode.
func TestTablesStartAnew(t *testing.T) {
	code := wt.RefNull(wt.FuncRef) + wt.I32Const(1) + wt.TableGrow(0) + wt.I32Const(1) + wt.I32Ne + wt.If(wt.Unreachable) // it had one entry
	e, r := open(t, options(), tiny{code: code, tables: []wt.Table{{Size: wt.Size{Min: 1, Max: 9}}}}.bytes(), 2), env.Reply{}
	require.Nil(t, e.origin)
	for range 3 {
		require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
		require.NoError(t, e.Exchange(t.Context(), all(e, env.Step, 1), &r))
		require.Empty(t, r.Events)
	}
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Step, 1), &r))
	require.Equal(t, []env.Flag{env.Failed, env.Failed}, r.Flags, "the second step of an episode sees the first")
}

// Promise: what a module says of a recorded call is checked, and a module that cannot read one
// says so.
func TestWrongEncodings(t *testing.T) {
	e, r := open(t, options(), tiny{spec: `{"actions": ["go", "break"], "feature_shape": [3], "encodes": true}`}.bytes(), 1), env.Reply{}
	require.True(t, e.Spec().Encodes)
	_, err := e.Encode(t.Context(), []string{"hello"}, "go", &r)
	require.ErrorContains(t, err, "it does not export merit_encode")
	for said, says := range map[string]string{
		`{"anchor": "a", "features": [1, 2], "action": 0}`:                    "features",
		`{"anchor": "a", "features": [1, 2, 3], "mask": [1], "action": 0}`:    "mask",
		`{"anchor": "a", "features": [1, 2, 3], "mask": [1, 7], "action": 0}`: "mask",
		`{"anchor": "a", "features": [1, 2, 3], "action": 2}`:                 "action",
		`{"anchor": "", "features": [1, 2, 3], "action": 0}`:                  "anchor",
		`{"anchor": "a", "features": [1, 2, 1e99], "action": 0}`:              "not valid",
	} {
		_, err := e.observed([]byte(said), &r)
		require.ErrorContains(t, err, says, said)
	}
	action, err := e.observed([]byte(`{"anchor": "a", "features": [1, 2, 3], "mask": [0, 1], "action": -1}`), &r)
	require.NoError(t, err)
	require.Equal(t, -1, action)
	require.Equal(t, []byte{0, 1}, r.Mask)
	require.Equal(t, []float32{1, 2, 3}, r.Features)
	_, err = open(t, options(), tiny{}.bytes(), 1).Encode(t.Context(), nil, "", &r)
	require.ErrorContains(t, err, "encodes no recorded calls")
}

// Promise: a module that is not an environment is refused before it runs, with all reasons.
func TestOtherModulesAreRefused(t *testing.T) {
	for says, wasm := range map[string][]byte{
		"it does not export merit_step (i32, i32, i32, i32) -> i32": tiny{without: block.Step}.bytes(),
		"it does not export merit_environment_1":                    wt.Module{}.Bytes(),
		"it does not export memory":                                 wt.Module{}.Bytes(),
		"the module is a reward, not an environment":                wt.Module{Funcs: []wt.Func{{Export: "merit_abi_1"}}}.Bytes(),
		"the module was rejected":                                   []byte("text"),
		"it imports merit_v1.set_score, which only rewards have":    tiny{imports: []wt.Import{{Module: "merit_v1", Name: "set_score", Params: wt.F64}}}.bytes(),
	} {
		_, err := load(t, options(), wasm)
		require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
		text := err.Error()
		for inner := fault.As(err).Err; inner != nil; inner = nil {
			text += inner.Error()
		}
		require.Contains(t, text, says)
	}
}

// Promise: a description or a spec that breaks its limits is an error of the module, not of
// a slot.
func TestWrongDescriptions(t *testing.T) {
	for says, g := range map[string]tiny{
		"outside of its memory":       {describe: []byte(answer(0, 0xfffffff0, 64))},
		"neither 0 nor 1":             {describe: []byte(answer(2, 0x1000, 4))},
		"its description is not JSON": {describe: []byte(answer(0, 0x1000, 5))},
		"is not UTF-8":                {describe: []byte(answer(0, atTexts+2, 1))},
	} {
		_, err := load(t, options(), g.bytes())
		require.ErrorContains(t, err, says)
	}
	for says, spec := range map[string]string{
		"its spec is not valid": `{"actions": 3}`,
		"spec.feature_shape":    `{"feature_shape": [0]}`,
		"spec.actions":          `{"actions": [""]}`,
		"spec.tools":            `{"tools": {}}`,
	} {
		m, err := load(t, options(), tiny{spec: spec}.bytes())
		require.NoError(t, err)
		_, err = m.Open(t.Context(), wire.Configuration{Slots: 1})
		require.ErrorContains(t, err, says)
	}
	m, err := load(t, options(), tiny{}.bytes())
	require.NoError(t, err)
	require.Equal(t, "tiny", m.Description().Name)
	require.EqualError(t, m.problems([]byte("no such level")), "tiny: no such level")
	require.ErrorIs(t, m.problems([]byte(`[{"boundary": "config", "kind": "invalid", "where": "options.a", "what": "x"}]`)), fault.Of(fault.Config, fault.Invalid))
}

// Promise: the end of the context stops guests, is the error of the batch, and a reset
// recovers.
func TestContextStopsGuests(t *testing.T) {
	o := options()
	o.Fuel = 1 << 50
	e, r := open(t, o, tiny{code: wt.Loop(wt.Br(0))}.bytes(), 3), env.Reply{}
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, e.Exchange(ctx, all(e, env.Step, 1), &r), context.DeadlineExceeded)
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Step, 0), &r))
	require.True(t, strings.HasPrefix(r.Events[0].Message, "the slot was stepped before its first reset"))
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
	require.Empty(t, r.Events)
}

// FuzzTurn writes any turn and any bytes around it into a guest's memory. Whatever is read
// is either the failure of the slot, or finite, UTF-8 and within its limits.
func FuzzTurn(f *testing.F) {
	f.Add(turn(1, nil), words(2, atTexts, 2, 0x500, 4))
	for _, c := range faults {
		if c.guest.bad != nil {
			f.Add(c.guest.bad, c.guest.events)
		}
	}
	e, r := open(f, options(), tiny{}.bytes(), 1), env.Reply{}
	if err := e.Exchange(f.Context(), all(e, env.Reset, 0), &r); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, turn, events []byte) {
		b := all(e, env.Reset, 0)
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		i := e.slots[0].guest.instance
		memory, ok := i.Bytes(0, i.Size())
		require.True(t, ok)
		copy(memory[atBad:atBad+block.TurnSize], turn)
		copy(memory[atEvents:atEvents+0x40], events)
		b = all(e, env.Step, 1)
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		for _, event := range r.Events {
			require.True(t, event.Slot == 0)
			require.LessOrEqual(t, len(event.Message), wire.MaxAttached)
		}
		require.False(t, math.IsNaN(r.Reward[0]) || math.IsInf(r.Reward[0], 0))
		require.Equal(t, r.Anchor[0], strings.ToValidUTF8(r.Anchor[0], "?"))
		for _, v := range r.Features {
			require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
		}
		over := r.Flags[0]&(env.Terminated|env.Truncated|env.Failed) != 0
		require.True(t, over || r.Mask[0] == 1 || r.Mask[1] == 1)
	})
}

// Promise: a picture that breaks the guest ends the episode of its slot, which then says so.
func TestBrokenPictureEndsTheEpisode(t *testing.T) {
	e, r := open(t, options(), tiny{render: wt.Unreachable}.bytes(), 2), env.Reply{}
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
	_, err := e.Render(t.Context(), 1)
	require.ErrorContains(t, err, "trap: unreachable")
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Step, 0), &r))
	require.Equal(t, []env.Flag{0, env.Failed}, r.Flags)
	require.Contains(t, r.Events[len(r.Events)-1].Message, "the slot was stepped after it failed")
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Reset, 0), &r))
	require.NoError(t, e.Exchange(t.Context(), all(e, env.Step, 0), &r))
	require.Equal(t, []env.Flag{0, 0}, r.Flags)
}
