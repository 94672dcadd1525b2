package train_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// mortal is a learner whose engine goes away: when fail says so, a call returns an
// error and what was learned since the last Save is gone.
type mortal struct {
	policy.Learner
	fail   func(call string) error
	closed func()
}

func (m mortal) Learn(ctx context.Context, e *policy.Experience, seed rl.Seed) (policy.Stats, error) {
	s, err := m.Learner.Learn(ctx, e, seed)
	if lost := m.fail("learn"); lost != nil {
		return policy.Stats{}, lost
	}
	return s, err
}

func (m mortal) Publish(ctx context.Context) error {
	if lost := m.fail("publish"); lost != nil {
		return lost
	}
	return m.Learner.Publish(ctx)
}

func (m mortal) Save(ctx context.Context, name string) ([]byte, error) {
	if lost := m.fail("save"); lost != nil {
		return nil, lost
	}
	return m.Learner.Save(ctx, name)
}

func (m mortal) Load(ctx context.Context, state []byte) error {
	if lost := m.fail("load"); lost != nil {
		return lost
	}
	return m.Learner.Load(ctx, state)
}

func (m mortal) Close() error {
	m.closed()
	return m.Learner.Close()
}

// dying opens small networks of which the calls with the given numbers, each
// counted over all of them, find their engine gone.
func dying(retry bool, calls map[string]int) (open func(context.Context, env.Spec, int) (policy.Learner, error), opened, closed *int) {
	opened, closed = new(int), new(int)
	seen := map[string]int{}
	return func(ctx context.Context, spec env.Spec, updates int) (policy.Learner, error) {
		*opened++
		l, err := network(nil)(ctx, spec, updates)
		return mortal{l, func(call string) error {
			seen[call]++
			if seen[call] != calls[call] {
				return nil
			}
			boundary := fault.Learner
			if call == "publish" {
				boundary = fault.Plugin // a defect of the plug-in's
			}
			return &fault.Error{Boundary: boundary, Kind: fault.Crashed, What: "the engine is gone", Retry: retry}
		}, func() { *closed++ }}, err
	}, opened, closed
}

// Promise: a policy whose engine goes away, whatever it was doing, is opened
// again and the run ends with the same bytes.
func TestLostPolicyIsOpenedAgain(t *testing.T) {
	testneeds.NotShort(t)
	whole := t.TempDir()
	_, err := trainIn(t.Context(), t, whole, settings(), deps(), false)
	require.NoError(t, err)
	for call, n := range map[string]int{"learn": 4, "publish": 6, "save": 3, "load": 1} {
		t.Run(call, func(t *testing.T) {
			path := t.TempDir()
			d := deps()
			var opened, closed *int
			d.OpenPolicy, opened, closed = dying(true, map[string]int{call: n})
			_, err := trainIn(t.Context(), t, path, settings(), d, false)
			require.NoError(t, err)
			require.Equal(t, 2, *opened)
			require.Equal(t, 2, *closed)
			requireSame(t, bytesOf(t, whole), bytesOf(t, path))
		})
	}
}

// Promise: what is wrong with a policy, and a policy that is lost again and
// again, end the run with their own words; every policy is closed.
func TestLostForGood(t *testing.T) {
	for name, c := range map[string]struct {
		retry          bool
		restarts, want int
	}{"wrong": {false, 2, 1}, "no restart allowed": {true, 0, 1}} {
		t.Run(name, func(t *testing.T) {
			d, s := deps(), settings()
			s.Train.Restarts = c.restarts
			var opened, closed *int
			d.OpenPolicy, opened, closed = dying(c.retry, map[string]int{"learn": 1})
			_, err := trainIn(t.Context(), t, t.TempDir(), s, d, false)
			require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Crashed))
			require.ErrorContains(t, err, "the engine is gone")
			require.Equal(t, c.want, *opened)
			require.Equal(t, *opened, *closed)
		})
	}
}
