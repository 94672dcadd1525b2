package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unsafe"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire/block"
)

// Serve makes the environment that of this WebAssembly module, and returns. The
// host calls the exports below. As a module has one slot, a failure of one slot
// cannot reach another, and the host can restore it alone.
func Serve[Options any](d Definition[Options]) {
	if self.open != nil {
		panic("plugin: a module has one environment, and Serve was called twice")
	}
	options, err := d.OptionsJSON()
	if err := errors.Join(d.check(), err); err != nil {
		panic(err)
	}
	self.description = block.Description{Name: d.Name, Version: d.Version, Summary: d.Summary, Options: options}
	self.open = d.Open
}

// module is the environment of this module and the memory of its answers, which
// the host reads before it calls again.
type module struct {
	description block.Description
	open        func(Setup, json.RawMessage) (env.Env, error)

	current  env.Env
	slots    *slots // current, if it is written for one slot at a time
	features []float32
	mask     []byte
	ones     []byte     // a mask with all actions
	batch    *env.Batch // for an environment that steps its slots together
	reply    env.Reply

	input  []uint64 // the memory of merit_alloc; uint64 so that it is 8-aligned
	answer block.Answer
	text   []byte
	turn   block.Turn
	events []block.Event
}

var self module

//go:wasmexport merit_environment_1
func meritEnvironment() {}

//go:wasmexport merit_alloc
func meritAlloc(size uint32) unsafe.Pointer {
	if words := int(size+7) / 8; words > len(self.input) {
		self.input = make([]uint64, max(words, 2*len(self.input), 128))
	}
	return unsafe.Pointer(&self.input[0])
}

//go:wasmexport merit_describe
func meritDescribe() unsafe.Pointer {
	if self.open == nil {
		return self.fail(errors.New("nothing has called plugin.Serve: call main in an init function of the module"))
	}
	return self.say(json.Marshal(self.description))
}

//go:wasmexport merit_configure
func meritConfigure(at unsafe.Pointer, size uint32) unsafe.Pointer {
	var setup struct {
		Split   string          `json:"split"`
		Options json.RawMessage `json:"options"`
	}
	if err := strictjson.Unmarshal(unsafe.Slice((*byte)(at), size), &setup); err != nil {
		return self.fail(err)
	}
	e, err := self.open(Setup{Slots: 1, Split: setup.Split}, setup.Options)
	if err != nil {
		return self.fail(err)
	}
	spec := e.Spec()
	self.current, self.batch, self.features = e, env.NewBatch(spec), make([]float32, spec.Features())
	self.slots, _ = e.(*slots)
	self.mask, self.ones = make([]byte, len(spec.Actions)), bytes.Repeat([]byte{1}, len(spec.Actions))
	said := block.Spec{Actions: spec.Actions, MaxSteps: uint32(spec.MaxSteps), System: spec.System, Tasks: uint32(spec.Tasks), Encodes: spec.Encodes}
	if spec.Tools != nil {
		said.Tools = spec.Tools
	}
	for _, d := range spec.FeatureShape {
		said.FeatureShape = append(said.FeatureShape, uint32(d))
	}
	self.warm()
	return self.say(json.Marshal(said))
}

// warm plays the start of an episode and forgets it. What grows once, such as buffers and
// the stack, has then grown in the state where all episodes begin.
func (m *module) warm() { m.play(env.Reset, 0, Action{}, env.WantText|env.WantFeatures) }

//go:wasmexport merit_reset
func meritReset(seed uint64, want uint32) unsafe.Pointer {
	return self.play(env.Reset, seed, Action{}, env.Want(want))
}

//go:wasmexport merit_step
func meritStep(action int32, at unsafe.Pointer, size uint32, want uint32) unsafe.Pointer {
	a := Action{Index: int(action)}
	if size > 0 {
		a.Text = string(unsafe.Slice((*byte)(at), size))
	}
	return self.play(env.Step, 0, a, env.Want(want))
}

//go:wasmexport merit_render
func meritRender() unsafe.Pointer {
	r, ok := self.current.(env.Renderer)
	if !ok {
		return self.fail(errNoPicture)
	}
	text, err := r.Render(context.Background(), 0)
	if err != nil {
		return self.fail(err)
	}
	return self.say([]byte(text), nil)
}

//go:wasmexport merit_encode
func meritEncode(at unsafe.Pointer, size uint32) unsafe.Pointer {
	e, ok := self.current.(env.Encoder)
	if !ok {
		return self.fail(errNoEncoder)
	}
	var call block.Call
	if err := strictjson.Unmarshal(unsafe.Slice((*byte)(at), size), &call); err != nil {
		return self.fail(err)
	}
	var r env.Reply
	action, err := e.Encode(context.Background(), call.Messages, call.Answer, &r)
	if err != nil {
		return self.fail(err)
	}
	said := block.Encoding{Action: action, Anchor: r.Anchor[0], Features: r.Features}
	for _, available := range r.Mask {
		said.Mask = append(said.Mask, uint32(available))
	}
	return self.say(json.Marshal(said))
}

// play resets or steps the slot. It does what slots.Exchange does for one slot, with few
// calls, which are expensive in a module, and without Turn.check: the host checks each turn.
func (m *module) play(op env.Op, seed uint64, a Action, want env.Want) unsafe.Pointer {
	if m.slots == nil {
		return m.together(op, seed, a, want)
	}
	v, t := m.slots, &m.slots.turn
	t.Anchor, t.Text, t.Features, t.events = t.Anchor[:0], t.Text[:0], nil, t.events[:0]
	t.Reward, t.Terminated, t.Truncated, t.InvalidAction = 0, false, false, false
	copy(m.mask, m.ones)
	t.Mask = m.mask
	if want&env.WantFeatures != 0 {
		clear(m.features)
		t.Features = m.features
	}
	var err error
	if op == env.Reset {
		err = v.reset(0, seed)
	} else {
		err = v.step(0, a)
	}
	if err != nil {
		return m.broke(err)
	}
	v.states[0] = live
	if t.Terminated || t.Truncated {
		v.states[0] = over
	}
	m.turn.Reward, m.turn.Flags = t.Reward, uint32(t.flags())
	m.turn.Anchor, m.turn.Text = span(t.Anchor), span(t.Text)
	m.turn.Mask, m.turn.Features = span(t.Mask), span(t.Features)
	if m.turn.Events.Size = 0; len(t.events) > 0 {
		m.report(t.events)
	}
	return unsafe.Pointer(&m.turn)
}

// broke answers that the slot failed.
func (m *module) broke(err error) unsafe.Pointer {
	m.slots.states[0] = faulty
	clear(m.features)
	m.turn = block.Turn{Flags: uint32(env.Failed), Features: span(m.slots.turn.Features)}
	m.report([]env.Event{{Kind: env.EventError, Message: err.Error()}})
	return unsafe.Pointer(&m.turn)
}

// together is play for an environment that steps its slots together.
func (m *module) together(op env.Op, seed uint64, a Action, want env.Want) unsafe.Pointer {
	m.batch.Ops[0], m.batch.Seeds[0], m.batch.Want = op, seed, want
	m.batch.Actions[0], m.batch.Texts[0] = int32(a.Index), a.Text
	if err := m.current.Exchange(context.Background(), m.batch, &m.reply); err != nil {
		m.reply = env.Reply{Anchor: []string{""}, Features: m.features[:len(m.features)*int(want&env.WantFeatures)/int(env.WantFeatures)], Reward: []float64{0}, Flags: []env.Flag{env.Failed}, Events: []env.Event{{Kind: env.EventError, Message: err.Error()}}}
	}
	m.turn.Anchor, m.turn.Text = characters(m.reply.Anchor[0]), block.Span{}
	if len(m.reply.Text) > 0 {
		m.turn.Text = characters(m.reply.Text[0])
	}
	m.turn.Reward, m.turn.Flags = m.reply.Reward[0], uint32(m.reply.Flags[0])
	m.turn.Mask, m.turn.Features = span(m.reply.Mask), span(m.reply.Features)
	m.report(m.reply.Events)
	return unsafe.Pointer(&m.turn)
}

// report adds events to the turn.
func (m *module) report(events []env.Event) {
	m.events = m.events[:0]
	for _, e := range events {
		m.events = append(m.events, block.Event{
			Kind: uint32(slices.Index(block.Kinds, string(e.Kind))), Name: characters(e.Name), Message: characters(e.Message),
		})
	}
	m.turn.Events = span(m.events)
}

// say answers with text.
func (m *module) say(text []byte, err error) unsafe.Pointer {
	if err != nil {
		return m.fail(err)
	}
	m.text = text
	m.answer = block.Answer{Text: span(m.text)}
	return unsafe.Pointer(&m.answer)
}

// fail answers with every problem in err.
func (m *module) fail(err error) unsafe.Pointer {
	text, wrong := json.Marshal(problems(err))
	if wrong != nil {
		text = []byte(err.Error())
	}
	m.text = text
	m.answer = block.Answer{Failed: 1, Text: span(m.text)}
	return unsafe.Pointer(&m.answer)
}

// problems lists the joined errors in err.
func problems(err error) (all []block.Problem) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, problems(e)...)
		}
		return all
	}
	if e, ok := err.(*fault.Error); ok {
		return []block.Problem{{Boundary: string(e.Boundary), Kind: string(e.Kind), Where: e.Where, What: e.What, Hint: e.Hint}}
	}
	return []block.Problem{{What: err.Error()}}
}

func span[T any](s []T) block.Span {
	return block.Span{At: uint32(uintptr(unsafe.Pointer(unsafe.SliceData(s)))), Size: uint32(len(s))}
}

func characters(s string) block.Span {
	return block.Span{At: uint32(uintptr(unsafe.Pointer(unsafe.StringData(s)))), Size: uint32(len(s))}
}
