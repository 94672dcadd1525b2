package tenant

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Gate wraps r for t. Each evaluation waits for its turn, its fuel is charged to the tenant,
// and it is counted for the key. The result is a reward.GroupScorer if r compares the members
// of a group; a group takes one slot.
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

// Evaluate evaluates t in its turn. If ctx is canceled before the turn, the outcome is
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

// settle releases a slot and charges for its use.
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

// Turn waits for a turn of t for other CPU work, such as opening a reward. The work counts by
// its time in the order of turns, but not against fuel_per_second, because its time depends on
// what others do. Call done when the work ends. Nothing that waits for another turn of t may
// wait for this one. Turn returns the error of ctx.
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

// unheard returns the evaluation of a trajectory that got no turn.
func unheard(err error) reward.Evaluation {
	return reward.Evaluation{Outcome: reward.Infrastructure, Reason: "the request was canceled before its turn: " + err.Error()}
}
