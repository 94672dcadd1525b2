//go:build !wasip1

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/internal/wire"
)

// inProcess is a policy.Learner that calls an actor in the same process.
// Decisions pass through the messages of the wire, and so through their checks.
type inProcess struct {
	actor  *actor
	closed atomic.Bool
}

var _ policy.Learner = (*inProcess)(nil)

// Act implements policy.Policy.
func (p *inProcess) Act(ctx context.Context, observations []Request, decisions []Decision) error {
	if p.closed.Load() {
		return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: p.actor.spec.Name, What: "the policy is closed"}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	newest := p.actor.version.Load()
	var all sync.WaitGroup
	for i := range observations {
		all.Go(func() {
			d, err := p.actor.act(ctx, &observations[i])
			decisions[i], err = wire.DecodeDecision(wire.EncodeDecision(1, &d, newest, err), p.actor.setup.Actions, newest)
			decisions[i].Err = err
		})
	}
	all.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

// Version implements policy.Policy.
func (p *inProcess) Version() uint64 { return p.actor.version.Load() }

// Spec implements policy.Learner.
func (p *inProcess) Spec() PolicySpec { return p.actor.spec }

// Learn implements policy.Learner.
func (p *inProcess) Learn(ctx context.Context, e *policy.Experience, seed Seed) (Stats, error) {
	sequences, err := e.Sequences()
	if err != nil {
		return Stats{}, err
	}
	return p.actor.learn(ctx, sequences, seed)
}

// Publish implements policy.Learner.
func (p *inProcess) Publish(ctx context.Context) error { return p.actor.publish(ctx) }

// Save implements policy.Learner.
func (p *inProcess) Save(ctx context.Context, name string) ([]byte, error) {
	if err := wire.CheckStateName(name); err != nil {
		return nil, err
	}
	return p.actor.save(ctx, name)
}

// Load implements policy.Learner.
func (p *inProcess) Load(ctx context.Context, state []byte) error { return p.actor.load(ctx, state) }

// Close implements policy.Learner.
func (p *inProcess) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	return p.actor.close()
}

// Open opens the policy in this process, without a plug-in, for tests. Its
// decisions pass the same checks as those of a plug-in. options is a JSON
// object; nil keeps every default.
func (d PolicyDefinition[Options]) Open(setup PolicySetup, options json.RawMessage) (policy.Learner, error) {
	a, err := d.build(setup, options)
	if err != nil {
		return nil, err
	}
	return &inProcess{actor: a}, nil
}

// build is Open without the host's interface.
func (d PolicyDefinition[Options]) build(setup PolicySetup, options json.RawMessage) (*actor, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	o := d.Defaults
	wrong := decodeOptions(options, &o)
	if d.Check != nil {
		wrong = append(wrong, guard(func() error { return d.Check(setup, o) }))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	p, err := guarded(func() (Policy, error) { return d.New(setup, o) })
	if err != nil {
		return nil, err
	}
	return newActor(p, d.Name, d.Version, setup), nil
}
