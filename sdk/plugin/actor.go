//go:build !wasip1

package plugin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
)

// actor is a configured policy with the services of the SDK: it turns panics
// into errors, counts updates, and lets only one call learn at a time.
type actor struct {
	policy  Policy
	learner Learner // nil if the policy cannot learn
	spec    PolicySpec
	setup   wire.PolicyConfiguration

	version  atomic.Uint64 // the number of updates that made the newest weights
	learning sync.Mutex
}

func newActor(p Policy, name, version string, setup PolicySetup) *actor {
	a := &actor{policy: p, spec: p.Spec()}
	a.learner, _ = p.(Learner)
	a.spec.Name, a.spec.Version, a.spec.Learns = name, version, a.learner != nil
	a.setup = wire.PolicyConfiguration{
		Seed: setup.Seed, Actions: setup.Actions, FeatureShape: setup.FeatureShape, Tools: setup.Tools,
		Learn: setup.Learn, Updates: setup.Updates,
	}
	return a
}

// act answers one request. A panic fails only this request and does not affect
// the next one.
func (a *actor) act(ctx context.Context, r *Request) (d Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Retry(panicked(p))
		}
	}()
	d, err = a.policy.Act(ctx, r)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Timeout, Where: a.spec.Name, What: "did not decide before the deadline",
			Hint: "raise the deadline, or make the policy faster", Err: err, Retry: true,
		}
	}
	return d, err
}

// learn updates the policy once.
func (a *actor) learn(ctx context.Context, sequences []Sequence, seed Seed) (s Stats, err error) {
	err = a.alone(func() (err error) {
		s, err = a.learner.Learn(ctx, sequences, seed)
		if err == nil {
			a.version.Add(1)
		}
		return err
	})
	return s, err
}

func (a *actor) publish(ctx context.Context) error {
	return a.alone(func() error { return a.learner.Publish(ctx) })
}

// save prepends the number of updates to the author's state.
func (a *actor) save(ctx context.Context, name string) (state []byte, err error) {
	err = a.alone(func() error {
		own, err := a.learner.Save(ctx, name)
		state = append(binary.LittleEndian.AppendUint64(nil, a.version.Load()), own...)
		return err
	})
	return state, err
}

func (a *actor) load(ctx context.Context, state []byte) error {
	return a.alone(func() error {
		var own []byte
		var version uint64
		if len(state) > 0 {
			if len(state) < 8 {
				return &fault.Error{
					Boundary: fault.Learner, Kind: fault.Corrupt, Where: a.spec.Name,
					What: fmt.Sprintf("the state has %d bytes, which is too short", len(state)), Hint: "load a state that this policy saved",
				}
			}
			version, own = binary.LittleEndian.Uint64(state), state[8:]
		}
		if err := a.learner.Load(ctx, own); err != nil {
			return err
		}
		a.version.Store(version)
		return nil
	})
}

// alone runs f while no other call learns. After a panic, the state is whatever
// the author's code left.
func (a *actor) alone(f func() error) (err error) {
	if a.learner == nil {
		return wire.CannotLearn(a.spec.Name)
	}
	a.learning.Lock()
	defer a.learning.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = Retry(panicked(p))
		}
	}()
	return f()
}

func (a *actor) close() error {
	if c, ok := a.policy.(io.Closer); ok {
		return guard(c.Close)
	}
	return nil
}
