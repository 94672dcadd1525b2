package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
	pb "github.com/merit-rl/merit/internal/wire/proto"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// Environment is an env.Env whose slots are instances of a module.
type Environment struct {
	// Release, if set, is called at the end of Close.
	Release func()

	module  *Module
	setup   []byte // the JSON that configures an instance
	spec    env.Spec
	origin  *engine.State // of a configured instance, where episodes begin; nil without snapshots
	slots   []slot
	starts  starts
	workers []worker // of the slots, a share each
	shifts  shifts
	canDraw bool
	encoder *guest // encodes recorded calls; nil before the first
	closed  bool
}

var _ env.Renderer = (*Environment)(nil)

// Open configures the module. The error reports, joined, what the module rejects in the
// options.
func (m *Module) Open(ctx context.Context, c wire.Configuration) (*Environment, error) {
	options := c.Options
	if len(options) == 0 {
		options = json.RawMessage("{}")
	}
	setup, err := json.Marshal(block.Setup{Split: c.Split, Options: options})
	if err != nil {
		return nil, m.broken(fault.Invalid, "the options are not JSON: "+err.Error(), "write a mapping")
	}
	e := &Environment{module: m, setup: setup, slots: make([]slot, c.Slots)}
	g, spec, err := e.configured(ctx)
	if err != nil {
		return nil, err
	}
	if e.spec, err = m.specOf(spec, c.Slots); err == nil && m.program.Restorable() {
		if e.origin, err = g.instance.Snapshot(); err != nil {
			err = m.broken(fault.Exhausted, err.Error(), "free some memory")
		}
	}
	if err != nil {
		g.close()
		return nil, err
	}
	e.spec.Snapshots = e.origin != nil
	e.canDraw = g.player.Draws()
	e.slots[0].guest = g
	for i := range e.slots {
		e.slots[i].env, e.slots[i].index = e, i
	}
	e.workers = make([]worker, (c.Slots+share-1)/share)
	e.shifts.cpu = make([]int, len(e.workers))
	return e, nil
}

// configured returns a new, configured instance, and its spec as JSON.
func (e *Environment) configured(ctx context.Context) (*guest, []byte, error) {
	m := e.module
	g, err := m.newGuest(ctx)
	if err != nil {
		return nil, nil, err
	}
	if m.born != nil {
		err = g.adopt(m.born)
	} else {
		err = g.start(ctx)
	}
	var spec []byte
	if err == nil {
		spec, err = g.ask(ctx, "configure itself", m.startBudget(), block.Configure, e.setup)
	}
	if err != nil {
		g.close()
		return nil, nil, err
	}
	return g, spec, nil
}

// specOf checks what the module says of the configured environment.
func (m *Module) specOf(text []byte, slots int) (env.Spec, error) {
	var s struct {
		Actions      []string        `json:"actions"`
		FeatureShape []uint32        `json:"feature_shape"`
		MaxSteps     uint32          `json:"max_steps"`
		System       string          `json:"system"`
		Tools        json.RawMessage `json:"tools"`
		Tasks        uint32          `json:"tasks"`
		Encodes      bool            `json:"encodes"`
	}
	if err := strictjson.Unmarshal(text, &s); err != nil {
		return env.Spec{}, m.broken(fault.Protocol, "its spec is not valid: "+err.Error(), "correct what merit_configure returns")
	}
	return wire.DecodeSpec(&pb.ConfigureReply{Spec: &pb.Spec{
		Name: m.about.Name, Version: m.about.Version, Slots: uint32(slots), Actions: s.Actions, FeatureShape: s.FeatureShape,
		MaxSteps: s.MaxSteps, System: s.System, Tools: s.Tools, Tasks: s.Tasks, Encodes: s.Encodes,
	}}, slots)
}

// fresh returns an instance in the state where episodes begin.
func (e *Environment) fresh(ctx context.Context) (*guest, error) {
	if e.origin == nil {
		g, _, err := e.configured(ctx)
		return g, err
	}
	g, err := e.module.newGuest(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.adopt(e.origin); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// Spec implements env.Env.
func (e *Environment) Spec() env.Spec { return e.spec }

// Fuel returns the fuel that all resets and steps have used.
func (e *Environment) Fuel() uint64 {
	sum := uint64(0)
	for i := range e.slots {
		sum += e.slots[i].fuel
	}
	return sum
}

// share is the number of slots of a worker, for which another CPU is worth waking up.
const share = 8

// Exchange implements env.Env. What happens to a slot does not depend on the CPU.
func (e *Environment) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if err := e.usable(ctx, b); err != nil {
		return err
	}
	e.prepare(b.Want, r)
	e.starts.expect(b)
	e.shifts.play(func(n int) {
		low := n * share
		e.workers[n].play(ctx, e, low, min(low+share, len(e.slots)), b, r)
	})
	for n := range e.workers {
		if err := e.workers[n].err; err != nil {
			e.forget()
			return err
		}
		r.Events = append(r.Events, e.workers[n].events...)
	}
	return nil
}

// usable returns why a batch cannot be played.
func (e *Environment) usable(ctx context.Context, b *env.Batch) error {
	what := errClosed
	if !e.closed {
		if what = b.Check(e.spec); what == nil {
			return ctx.Err()
		}
	}
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: e.spec.Name, What: what.Error()}
}

// forget makes a reset of every slot necessary after an error.
func (e *Environment) forget() {
	for i := range e.slots {
		e.slots[i].state = unset
	}
}

// prepare sizes and clears the columns of the reply.
func (e *Environment) prepare(want env.Want, r *env.Reply) {
	n := len(e.slots)
	r.Anchor, r.Text, r.Features, r.Events = sized(r.Anchor, n), r.Text[:0], r.Features[:0], r.Events[:0]
	if want&env.WantText != 0 {
		r.Text = sized(r.Text, n)
	}
	if want&env.WantFeatures != 0 {
		r.Features = sized(r.Features, n*e.spec.Features())
	}
	r.Mask, r.Reward, r.Flags = sized(r.Mask, n*len(e.spec.Actions)), sized(r.Reward, n), sized(r.Flags, n)
}

// sized returns s with length n.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// Render implements env.Renderer.
func (e *Environment) Render(ctx context.Context, index int) (string, error) {
	switch {
	case e.closed:
		return "", errClosed
	case index < 0 || index >= len(e.slots):
		return "", fmt.Errorf("slot %d does not exist: the environment has %d slots", index, len(e.slots))
	case !e.canDraw || e.slots[index].guest == nil:
		return "", errors.New("the environment draws no picture")
	}
	s := &e.slots[index]
	text, err := s.guest.ask(ctx, "draw", e.module.budget(), block.Render, nil)
	if f := fault.As(err); f != nil && f.Boundary == fault.Sandbox {
		s.drop()
		s.state = failed
	}
	return wire.Lines(string(text), wire.MaxText), err
}

// Close implements env.Env.
func (e *Environment) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	for i := range e.slots {
		e.slots[i].drop()
	}
	if e.encoder != nil {
		e.encoder.close()
	}
	if e.origin != nil {
		e.origin.Close()
	}
	if e.Release != nil {
		e.Release()
	}
	return nil
}
