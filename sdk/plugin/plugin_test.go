package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/sdk/plugin"
)

// counter is an environment that counts to ten, or does what it is told.
type counter struct {
	steps  int
	closed *int
}

func counters(closed *int) plugin.Definition[struct{}] {
	return plugin.Definition[struct{}]{
		Name: "counter", Version: "1",
		New: func(plugin.Setup, struct{}) (plugin.Environment, error) { return counting{closed}, nil },
	}
}

type counting struct{ closed *int }

func (counting) Spec() plugin.Spec {
	return plugin.Spec{Actions: []string{"count", "fail", "panic", "nan", "long"}, FeatureShape: []int{2}, MaxSteps: 10}
}

func (c counting) NewSlot() (plugin.Slot, error) { return &counter{closed: c.closed}, nil }

func (c *counter) Reset(seed uint64, turn *plugin.Turn) error {
	c.steps = int(seed % 5)
	return c.say(turn)
}

func (c *counter) Step(a plugin.Action, turn *plugin.Turn) error {
	c.steps++
	turn.Reward = 0.5
	turn.Terminated = c.steps >= 10
	switch a.Index {
	case 1:
		return errors.New("as told")
	case 2:
		panic("as told")
	case 3:
		turn.Reward = math.NaN()
	case 4:
		if err := turn.Info("long", strings.Repeat("x", 8<<20)); err != nil {
			return err
		}
	}
	return c.say(turn)
}

func (c *counter) say(turn *plugin.Turn) error {
	turn.Anchor = append(turn.Anchor, byte('0'+c.steps%10))
	turn.Mask[1], turn.Mask[2], turn.Mask[3], turn.Mask[4] = 0, 0, 0, 0
	if turn.Features != nil {
		turn.Features[1] = float32(c.steps)
	}
	return nil
}

func (c *counter) Close() error {
	*c.closed++
	return nil
}

func openCounter(t testing.TB, slots int, closed *int) env.Env {
	e, err := counters(closed).Open(plugin.Setup{Slots: slots, Split: plugin.Train}, nil)
	require.NoError(t, err)
	return e
}

// Promise: slots written one at a time keep the contract of env.Env.
func TestSlotsContract(t *testing.T) {
	envtest.Run(t, func(t testing.TB) env.Env { return openCounter(t, 3, new(int)) })
}

// Promise: so does the environment of the Example, which others begin with.
func TestExampleContract(t *testing.T) {
	envtest.Run(t, func(t testing.TB) env.Env {
		e, err := Corridor().Open(plugin.Setup{Slots: 3, Split: plugin.Train}, nil)
		require.NoError(t, err)
		return e
	})
}

// Promise: a Vector keeps it too, and its name and version are the Definition's.
func TestVectorContract(t *testing.T) {
	d := plugin.Definition[struct{}]{
		Name: "vector", Version: "2",
		Vector: func(s plugin.Setup, _ struct{}) (plugin.Vector, error) { return openCounter(t, s.Slots, new(int)), nil },
	}
	envtest.Run(t, func(t testing.TB) env.Env {
		e, err := d.Open(plugin.Setup{Slots: 3}, nil)
		require.NoError(t, err)
		require.Equal(t, "vector 2", e.Spec().Name+" "+e.Spec().Version)
		return e
	})
	d.Vector = func(plugin.Setup, struct{}) (plugin.Vector, error) { return openCounter(t, 4, new(int)), nil }
	_, err := d.Open(plugin.Setup{Slots: 3}, nil)
	require.ErrorContains(t, err, "has 4 slots, not the requested 3")
}

// Promise: an error, a panic, a number that is not finite or an info that is
// too long for the host makes one slot fail, with its reason only; the other
// slots continue.
func TestBrokenSlot(t *testing.T) {
	for action, says := range map[int32]string{1: "as told", 2: "panic: as told", 3: "the reward is NaN, not a finite number", 4: `the info "long" has 8388610 bytes as JSON, more than the limit of 8388608`} {
		e := openCounter(t, 2, new(int))
		b := env.NewBatch(e.Spec())
		b.Want = env.WantText | env.WantFeatures
		var r env.Reply
		b.Ops[0], b.Ops[1] = env.Reset, env.Reset
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		b.Ops[0], b.Ops[1], b.Actions[0] = env.Step, env.Step, action
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Equal(t, []env.Flag{env.Failed, 0}, r.Flags)
		require.Equal(t, []env.Event{{Slot: 0, Kind: env.EventError, Message: says}}, r.Events)
		require.Equal(t, []float64{0, 0.5}, r.Reward)
		require.Equal(t, []string{"", "1"}, r.Anchor)
		require.Equal(t, []float32{0, 0, 0, 1}, r.Features)
		b.Actions[0] = 0
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Equal(t, "the slot was stepped after it failed; reset it first", r.Events[0].Message)
		b.Ops[0] = env.Reset
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Equal(t, []env.Flag{0, 0}, r.Flags)
	}
}

// Promise: a batch that skips every slot says nothing, whatever the one before
// it said.
func TestSkippedSlotsSayNothing(t *testing.T) {
	e := openCounter(t, 1, new(int))
	b, r := env.NewBatch(e.Spec()), env.Reply{}
	b.Ops[0] = env.Step
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.Len(t, r.Events, 1, "stepped before its first reset")
	b.Ops[0] = env.Skip
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.Empty(t, r.Events)
}

// Promise: slots are closed once, and told apart from pictures that are not.
func TestClose(t *testing.T) {
	closed := 0
	e := openCounter(t, 3, &closed)
	_, err := e.(env.Renderer).Render(context.Background(), 0)
	require.EqualError(t, err, "the environment draws no picture")
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	require.Equal(t, 3, closed)
}

// Promise: a Definition that cannot work says why; an author's panic while
// building is an error.
func TestDefinition(t *testing.T) {
	_, err := plugin.Definition[struct{}]{}.Open(plugin.Setup{Slots: 1}, nil)
	require.ErrorContains(t, err, "needs a Name and a Version")
	require.ErrorContains(t, err, "needs exactly one of New and Vector")
	d := counters(new(int))
	_, err = d.Open(plugin.Setup{}, nil)
	require.ErrorContains(t, err, "slots: must be at least 1, not 0")
	d.New = func(plugin.Setup, struct{}) (plugin.Environment, error) { panic("no maps") }
	_, err = d.Open(plugin.Setup{Slots: 1}, nil)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Crashed))
	require.ErrorContains(t, err, "panic: no maps")
}

type nested struct {
	Depth int      `json:"depth"`
	Names []string `json:"names"`
}

type options struct {
	Rate   float64        `json:"rate"`
	Fast   bool           `json:"fast"`
	Inner  nested         `json:"inner"`
	Weight map[string]int `json:"weight"`
	Hidden int            `json:"-"`
}

// Promise: options are decoded over the defaults, and all problems are reported
// at once, each with its path and what belongs there.
func TestOptions(t *testing.T) {
	var got options
	d := plugin.Definition[options]{
		Name: "o", Version: "1", Defaults: options{Rate: 0.5, Inner: nested{Depth: 3}},
		New: func(_ plugin.Setup, o options) (plugin.Environment, error) {
			got = o
			return counting{new(int)}, nil
		},
	}
	_, err := d.Open(plugin.Setup{Slots: 1}, json.RawMessage(`{"fast": true, "inner": {"names": ["x"]}}`))
	require.NoError(t, err)
	require.Equal(t, options{Rate: 0.5, Fast: true, Inner: nested{Depth: 3, Names: []string{"x"}}}, got)
	_, err = d.Open(plugin.Setup{Slots: 1}, json.RawMessage(
		`{"rate": "high", "fast": 1, "inner": {"depth": 1.5, "names": "x", "nmaes": 1}, "weight": {"a": "b"}, "Hidden": 1}`))
	require.EqualError(t, err, `options.Hidden: is not an option
options.fast: must be true or false, not 1
options.inner.depth: must be a whole number, not 1.5
options.inner.names: must be a list, not "x"
options.inner.nmaes: is not an option
options.rate: must be a number, not "high"
options.weight.a: must be a whole number, not "b"`)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	for raw, says := range map[string]string{
		`[1]`: "options: must be a section", `{"inner": 3}`: "options.inner: must be a section", `{`: "options: ",
		`{"rate": null}`: "options.rate: has no value", `{"weight": {"b": true}}`: "options.weight.b: must be a whole number, not true",
		`{"fast": [1]}`: "options.fast: must be true or false, not a list", `{"rate": {}}`: "options.rate: must be a number, not a section",
	} {
		_, err = d.Open(plugin.Setup{Slots: 1}, json.RawMessage(raw))
		require.ErrorContains(t, err, says)
	}
}

// Promise: an option that is a duration is written as in the rest of a
// configuration.
func TestDurations(t *testing.T) {
	type timed struct {
		Wait time.Duration `json:"wait"`
	}
	var got timed
	d := plugin.Definition[timed]{
		Name: "o", Version: "1", Defaults: timed{Wait: time.Second},
		New: func(_ plugin.Setup, o timed) (plugin.Environment, error) {
			got = o
			return counting{new(int)}, nil
		},
	}
	for raw, want := range map[string]time.Duration{`{}`: time.Second, `{"wait": "1m30s"}`: 90 * time.Second, `{"wait": 0}`: 0} {
		_, err := d.Open(plugin.Setup{Slots: 1}, json.RawMessage(raw))
		require.NoError(t, err)
		require.Equal(t, want, got.Wait, raw)
	}
	for _, raw := range []string{`{"wait": 30}`, `{"wait": "soon"}`, `{"wait": [1]}`, `{"wait": 1e99}`} {
		_, err := d.Open(plugin.Setup{Slots: 1}, json.RawMessage(raw))
		require.ErrorContains(t, err, "options.wait: must be a duration such as 30s or 5m, not ", raw)
		require.Equal(t, "the default is 1s", fault.As(err).Hint)
	}
}

// Promise: the options of an embedded struct are options as the others.
func TestEmbeddedOptions(t *testing.T) {
	type Inner struct {
		Wait time.Duration `json:"wait"`
	}
	type outer struct {
		Inner
		Size int `json:"size"`
	}
	var got outer
	d := plugin.Definition[outer]{
		Name: "o", Version: "1", Defaults: outer{Inner: Inner{Wait: time.Second}},
		New: func(_ plugin.Setup, o outer) (plugin.Environment, error) {
			got = o
			return counting{new(int)}, nil
		},
	}
	_, err := d.Open(plugin.Setup{Slots: 1}, json.RawMessage(`{"wait": "2s", "size": 3}`))
	require.NoError(t, err)
	require.Equal(t, outer{Inner{2 * time.Second}, 3}, got)
	_, err = d.Open(plugin.Setup{Slots: 1}, json.RawMessage(`{"Inner": {}}`))
	require.ErrorContains(t, err, "options.Inner: is not an option")
	require.Equal(t, "the options are wait, size", fault.As(err).Hint)
}

// Promise: every problem of the options has a hint: the key that was probably
// meant, the known keys, or the default. Problems that Check finds are reported
// at the same time, with the defaults in place of invalid options.
func TestHints(t *testing.T) {
	d := plugin.Definition[options]{
		Name: "o", Version: "1", Defaults: options{Rate: 0.5, Weight: map[string]int{"a": 1}},
		Check: func(_ plugin.Setup, o options) error {
			require.Equal(t, 0.5, o.Rate)
			return errors.Join(plugin.Problem("inner.depth", "must not be negative", "0 is a good depth"))
		},
		New: func(plugin.Setup, options) (plugin.Environment, error) { panic("is not asked for") },
	}
	_, err := d.Open(plugin.Setup{Slots: 1}, json.RawMessage(`{"rate": "high", "wieght": 1, "colour": 1, "inner": {"depth": -1, "names": 1}}`))
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		got = append(got, fault.As(e).Where+": "+fault.As(e).Hint)
	}
	require.Equal(t, []string{
		"options.colour: the options are rate, fast, inner, weight",
		"options.inner.names: correct it, or remove the key to use the default",
		"options.rate: the default is 0.5",
		"options.wieght: did you mean weight?",
		"options.inner.depth: 0 is a good depth",
	}, got)
	require.Equal(t, map[string]int{"a": 1}, d.Defaults.Weight)
}

// reading reads recorded calls: a number is an observation, and words make it fail.
type reading struct{ counting }

func (reading) Encode(messages []string, answer string, turn *plugin.Turn) (int, error) {
	turn.Anchor = append(turn.Anchor, answer...)
	switch messages[0] {
	case "nan":
		turn.Features[1] = float32(math.NaN())
	case "far":
		return 5, nil
	case "none":
		clear(turn.Mask)
	case "empty":
		turn.Anchor = nil
	case "panic":
		panic("as told")
	case "other":
		return 0, turn.Refuse("it is something else")
	}
	return 4, nil
}

// Promise: an environment that encodes says so; what its Encode returns is checked, so that
// a defect costs one call, and a refusal is told from a defect.
func TestEncode(t *testing.T) {
	d := counters(nil)
	d.New = func(plugin.Setup, struct{}) (plugin.Environment, error) { return reading{}, nil }
	e, err := d.Open(plugin.Setup{Slots: 2}, nil)
	require.NoError(t, err)
	require.True(t, e.Spec().Encodes)
	var r env.Reply
	action, err := e.(env.Encoder).Encode(t.Context(), []string{"1"}, "here", &r)
	require.NoError(t, err)
	require.Equal(t, 4, action)
	require.Equal(t, env.Reply{Anchor: []string{"here"}, Features: []float32{0, 0}, Mask: []byte{1, 1, 1, 1, 1}}, r)
	for text, want := range map[string]string{
		"nan": "feature 1 is NaN, not a finite number", "far": "Encode returned action 5, but the environment has 5",
		"none": "no action is available", "empty": "Encode set no anchor", "panic": "panic: as told", "other": "it is something else",
	} {
		_, err := e.(env.Encoder).Encode(t.Context(), []string{text}, "here", &r)
		require.ErrorContains(t, err, want)
		require.Equal(t, text == "other", errors.Is(err, fault.Of(fault.Data, fault.Refused)))
	}
	old, err := counters(new(int)).Open(plugin.Setup{Slots: 1}, nil)
	require.NoError(t, err)
	require.False(t, old.Spec().Encodes)
	_, err = old.(env.Encoder).Encode(t.Context(), nil, "", &r)
	require.ErrorContains(t, err, "implement plugin.Encoder")
}
