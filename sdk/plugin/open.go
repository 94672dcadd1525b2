package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// Open opens the environment in this process, without a plug-in, for tests and
// benchmarks. options is a JSON object; nil keeps every default.
func (d Definition[Options]) Open(setup Setup, options json.RawMessage) (env.Env, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if setup.Slots < 1 {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: "slots",
			What: fmt.Sprintf("must be at least 1, not %d", setup.Slots), Hint: "set Setup.Slots to 1 or more",
		}
	}
	o, err := d.decode(setup, options)
	if err != nil {
		return nil, err
	}
	if d.Vector != nil {
		v, err := guarded(func() (Vector, error) { return d.Vector(setup, o) })
		if err != nil {
			return nil, err
		}
		return newVector(v, d.Name, d.Version, setup.Slots)
	}
	e, err := guarded(func() (Environment, error) { return d.New(setup, o) })
	if err != nil {
		return nil, err
	}
	return guarded(func() (env.Env, error) { return newSlots(e, d.Name, d.Version, setup.Slots) })
}

// decode applies options to the defaults, or returns all problems of the
// options.
func (d Definition[Options]) decode(setup Setup, options json.RawMessage) (Options, error) {
	o := d.Defaults
	wrong := decodeOptions(options, &o)
	if d.Check != nil {
		wrong = append(wrong, guard(func() error { return d.Check(setup, o) }))
	}
	return o, errors.Join(wrong...)
}

// guarded runs an author's code and turns its panic into an error. It prints
// the stack to stderr, where the author looks.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer recovered(&err)
	return f()
}

// guard is guarded for code that returns only an error.
func guard(f func() error) (err error) {
	defer recovered(&err)
	return f()
}

func panicked(p any) error {
	fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", p, debug.Stack())
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Crashed, What: fmt.Sprintf("panic: %v", p),
		Hint: "fix the bug in the plug-in; the stack trace is in its output",
	}
}

// vector is an author's Vector with the name and version of its Definition.
type vector struct {
	Vector
	spec Spec
}

func newVector(v Vector, name, version string, slots int) (env.Env, error) {
	spec := v.Spec()
	if spec.Slots != slots {
		return nil, fmt.Errorf("plugin.Vector %q has %d slots, not the requested %d", name, spec.Slots, slots)
	}
	spec.Name, spec.Version = name, version
	return &vector{Vector: v, spec: spec}, nil
}

func (v *vector) Spec() Spec { return v.spec }

func (v *vector) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	return guard(func() error { return v.Vector.Exchange(ctx, b, r) })
}

// Snapshot implements env.Snapshotter if the author's environment does.
func (v *vector) Snapshot(ctx context.Context, slot int) ([]byte, error) {
	if s, ok := v.Vector.(env.Snapshotter); ok {
		return s.Snapshot(ctx, slot)
	}
	return nil, errNoSnapshots
}

// Restore implements env.Snapshotter if the author's environment does.
func (v *vector) Restore(ctx context.Context, slot int, state []byte) error {
	if s, ok := v.Vector.(env.Snapshotter); ok {
		return s.Restore(ctx, slot, state)
	}
	return errNoSnapshots
}

// Encode implements env.Encoder if the author's environment does.
func (v *vector) Encode(ctx context.Context, messages []string, answer string, r *env.Reply) (int, error) {
	if e, ok := v.Vector.(env.Encoder); ok {
		return guarded(func() (int, error) { return e.Encode(ctx, messages, answer, r) })
	}
	return 0, errNoEncoder
}

// Render implements env.Renderer if the author's environment does.
func (v *vector) Render(ctx context.Context, slot int) (string, error) {
	if r, ok := v.Vector.(env.Renderer); ok {
		return r.Render(ctx, slot)
	}
	return "", errNoPicture
}
