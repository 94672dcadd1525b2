package tenant

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Gate returns r for t: each evaluation waits for its turn, and its fuel is
// charged to the tenant and counted for the key. It is a reward.GroupScorer if
// r is one that compares the members of a group, for which it takes one slot.
func (s *Scheduler) Gate(t *Tenant, r reward.Scorer) reward.Scorer {
	g := gate{Scorer: r, scheduler: s, tenant: t, flow: s.flow(t.account)}
	if group, ok := r.(reward.GroupScorer); ok && r.Info().Group {
		return groupGate{g, group}
	}
	return g
}

type gate struct {
	reward.Scorer
	scheduler *Scheduler
	tenant    *Tenant
	flow      *flow
}

// Evaluate evaluates t in its turn. If ctx ends before, the outcome is
// reward.Infrastructure.
func (g gate) Evaluate(ctx context.Context, t *rl.Trajectory) (e reward.Evaluation) {
	reserved, err := g.scheduler.enter(ctx, g.flow)
	if err != nil {
		return unheard(err)
	}
	began := time.Now()
	defer func() {
		g.tenant.meter.evaluation(&e)
		g.settle(reserved, began, e.Fuel)
	}()
	return g.Scorer.Evaluate(ctx, t)
}

// settle gives a slot back and charges what it was used for.
func (g gate) settle(reserved float64, began time.Time, fuel uint64) {
	now := time.Now()
	spent := cost(fuel, now.Sub(began))
	g.scheduler.leave(g.flow, reserved, spent, now)
	g.tenant.account.charge(now, spent)
}

type groupGate struct {
	gate
	group reward.GroupScorer
}

// EvaluateGroup evaluates a group in its turn.
func (g groupGate) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) (all []reward.Evaluation) {
	reserved, err := g.scheduler.enter(ctx, g.flow)
	if err != nil {
		return slices.Repeat([]reward.Evaluation{unheard(err)}, len(members))
	}
	began := time.Now()
	defer func() {
		var fuel uint64
		for i := range all {
			fuel += all[i].Fuel
			g.tenant.meter.evaluation(&all[i])
		}
		g.settle(reserved, began, fuel)
	}()
	return g.group.EvaluateGroup(ctx, members)
}

// Turn waits for the turn of other work of t that computes, such as opening a
// reward, and counts for the time that it takes: in the order of turns, but not
// against fuel_per_second, for time depends on what others do. Done must be
// called when it has ended. Nothing that waits for another turn of t may wait
// for it. The error is that of ctx.
func (s *Scheduler) Turn(ctx context.Context, t *Tenant) (done func(), err error) {
	g := gate{scheduler: s, tenant: t, flow: s.flow(t.account)}
	reserved, err := s.enter(ctx, g.flow)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return sync.OnceFunc(func() {
		now := time.Now()
		s.leave(g.flow, reserved, cost(0, now.Sub(began)), now)
	}), nil
}

// unheard is the evaluation of what got no turn.
func unheard(err error) reward.Evaluation {
	return reward.Evaluation{Outcome: reward.Infrastructure, Reason: "the request ended before its turn: " + err.Error()}
}
