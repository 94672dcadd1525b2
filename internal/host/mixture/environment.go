package mixture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/sampling"
)

// Name is the name of every mixture, and Metadata the key of an episode's metadata with the
// name of its environment.
const (
	Name     = "mixture"
	Metadata = sampling.PartKey
)

// Join returns the description of a mixture of environments with these descriptions. An
// error is relative to the list: a policy sees every environment alike, so they must agree
// in actions, features and tools.
func Join(parts []Part, specs []env.Spec) (env.Spec, error) {
	first := specs[0]
	out := env.Spec{
		Name: Name, Version: "1", Slots: first.Slots, Actions: first.Actions, FeatureShape: first.FeatureShape,
		Tools: first.Tools, System: first.System, MaxSteps: first.MaxSteps, Encodes: true,
	}
	var errs []error
	for i, s := range specs {
		if what := differ(first, s); what != "" {
			errs = append(errs, fmt.Errorf("%s and %s have different %s", parts[0].Called(), parts[i].Called(), what))
		}
		if s.System != first.System {
			out.System = "" // each conversation begins with its own
		}
		if out.MaxSteps > 0 {
			out.MaxSteps = max(out.MaxSteps, s.MaxSteps)
		}
		if s.MaxSteps == 0 {
			out.MaxSteps = 0
		}
		out.Encodes = out.Encodes && s.Encodes
		out.Mixture = append(out.Mixture, parts[i].sourceOf(s.Tasks))
	}
	return out, errors.Join(errs...)
}

// differ returns in what the forms of a and b differ, or "".
func differ(a, b env.Spec) string {
	switch {
	case !slices.Equal(a.Actions, b.Actions):
		return fmt.Sprintf("actions: %q and %q", a.Actions, b.Actions)
	case !slices.Equal(a.FeatureShape, b.FeatureShape):
		return fmt.Sprintf("shapes of features: %v and %v", a.FeatureShape, b.FeatureShape)
	case string(a.Tools) != string(b.Tools):
		return "tools"
	}
	return ""
}

// New returns the mixture of environments, which it closes. They have been described as
// parts.
func New(parts []Part, envs []env.Env) (env.Env, error) {
	specs := make([]env.Spec, len(envs))
	for i, e := range envs {
		specs[i] = e.Spec()
	}
	spec, err := Join(parts, specs)
	m := &environment{spec: spec, of: make([]int, spec.Slots)}
	for i, e := range envs {
		m.parts = append(m.parts, &part{Part: parts[i], Env: e, spec: specs[i], batch: env.NewBatch(specs[i])})
	}
	for _, s := range spec.Mixture {
		m.sum += s.Weight
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// environment is an env.Env made of others with the same slots. The reset of a slot
// determines which one plays in it.
type environment struct {
	spec  env.Spec
	parts []*part
	sum   int   // of the weights
	of    []int // by slot: index of the part that plays
}

// part is one environment and what it is asked in an exchange.
type part struct {
	Part
	env.Env
	spec  env.Spec
	batch *env.Batch
	reply env.Reply
	asked bool
}

// Spec implements env.Env.
func (m *environment) Spec() env.Spec { return m.spec }

// Exchange implements env.Env. It asks the environments one after the other.
func (m *environment) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if err := b.Check(m.spec); err != nil {
		return err
	}
	m.deal(b)
	m.shape(b.Want, r)
	for k, p := range m.parts {
		if !p.asked {
			continue
		}
		if err := p.Exchange(ctx, p.batch, &p.reply); err != nil {
			return err
		}
		for i := range m.of {
			if m.of[i] == k && b.Ops[i] != env.Skip {
				m.copy(i, p, r)
			}
		}
		r.Events = append(r.Events, p.events(b)...)
	}
	return nil
}

// deal gives every part the operations of its slots.
func (m *environment) deal(b *env.Batch) {
	for _, p := range m.parts {
		clear(p.batch.Ops)
		p.batch.Actions, p.batch.Texts = b.Actions, b.Texts
		p.batch.Want, p.asked, p.reply.Events = b.Want|env.WantText, false, p.reply.Events[:0]
	}
	for i, op := range b.Ops {
		if op == env.Reset {
			m.of[i] = sampling.SourceOf(m.spec.Mixture, int(b.Seeds[i]%uint64(m.sum)))
		}
		p := m.parts[m.of[i]]
		p.batch.Ops[i], p.batch.Seeds[i] = op, b.Seeds[i]/uint64(m.sum)
		p.asked = p.asked || op != env.Skip
	}
}

// shape gives r its columns.
func (m *environment) shape(want env.Want, r *env.Reply) {
	n := m.spec.Slots
	r.Anchor, r.Text, r.Reward, r.Flags = sized(r.Anchor, n), sized(r.Text, 0), sized(r.Reward, n), sized(r.Flags, n)
	if want&env.WantText != 0 {
		r.Text = sized(r.Text, n)
	}
	r.Mask, r.Features, r.Events = sized(r.Mask, n*len(m.spec.Actions)), sized(r.Features, 0), r.Events[:0]
	if want&env.WantFeatures != 0 {
		r.Features = sized(r.Features, n*m.spec.Features())
	}
}

// sized returns s with length n.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// copy copies row i of the reply of p.
func (m *environment) copy(i int, p *part, r *env.Reply) {
	from := &p.reply
	r.Anchor[i], r.Reward[i], r.Flags[i] = from.Anchor[i], from.Reward[i], from.Flags[i]
	if len(r.Text) > 0 {
		r.Text[i] = from.Text[i]
	}
	if na := len(m.spec.Actions); na > 0 {
		copy(r.Mask[i*na:(i+1)*na], from.Mask[i*na:])
	}
	if nf := m.spec.Features(); len(r.Features) > 0 {
		copy(r.Features[i*nf:(i+1)*nf], from.Features[i*nf:])
	}
}

// events returns the events of p with, for every episode that begins, its environment and a
// task.
func (p *part) events(b *env.Batch) (out []env.Event) {
	tasks := map[int]rl.Task{}
	for _, e := range p.reply.Events {
		if t, err := rl.DecodeTask([]byte(e.Message)); e.Kind == env.EventTask && err == nil && p.batch.Ops[e.Slot] == env.Reset {
			tasks[e.Slot] = *t
			continue
		}
		out = append(out, e)
	}
	name, _ := json.Marshal(p.Called()) // a string always has a JSON form
	for i, op := range p.batch.Ops {
		if op != env.Reset || p.reply.Flags[i]&env.Failed != 0 {
			continue
		}
		task, err := json.Marshal(p.begun(i, tasks[i]))
		if err != nil {
			continue // it came from JSON
		}
		out = append(out, env.Event{Slot: i, Kind: env.EventInfo, Name: Metadata, Message: string(name)}, env.Event{Slot: i, Kind: env.EventTask, Message: string(task)})
	}
	return out
}

// begun returns the task of the episode that begins in slot i. It has a name, and it opens
// with the system message of its environment, which another environment may not have.
func (p *part) begun(i int, t rl.Task) rl.Task {
	if t.ID == "" {
		t.ID = fmt.Sprintf("%s-%016x", p.Called(), p.batch.Seeds[i])
	}
	if p.spec.System == "" || len(t.Messages) > 0 && t.Messages[0].Role == rl.RoleSystem {
		return t
	}
	if len(t.Messages) == 0 {
		t.Messages = []rl.Message{{Role: rl.RoleUser, Content: rl.Text(p.reply.Text[i])}}
	}
	t.Messages = append([]rl.Message{{Role: rl.RoleSystem, Content: rl.Text(p.spec.System)}}, t.Messages...)
	return t
}

// Render implements env.Renderer.
func (m *environment) Render(ctx context.Context, slot int) (string, error) {
	p := m.parts[m.of[slot]]
	if r, ok := p.Env.(env.Renderer); ok {
		return r.Render(ctx, slot)
	}
	return "", errors.New("the environment " + p.Called() + " draws no picture")
}

// Encode implements env.Encoder with the first environment that does not refuse the call.
func (m *environment) Encode(ctx context.Context, messages []string, answer string, reply *env.Reply) (action int, err error) {
	for _, p := range m.parts {
		e, ok := p.Env.(env.Encoder)
		if !ok {
			return 0, errors.New("the environment " + p.Called() + " does not read recorded calls")
		}
		if action, err = e.Encode(ctx, messages, answer, reply); !errors.Is(err, fault.Of(fault.Data, fault.Refused)) {
			break
		}
	}
	return action, err
}

// Close implements env.Env.
func (m *environment) Close() error {
	var errs []error
	for _, p := range m.parts {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
