package fleets

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/processors"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/played"
)

// player is a train.Player of a split.
type player struct {
	*Coordinator
	split  string
	policy policy.Learner
}

// Close implements train.Player: the fleet is the program's.
func (p *player) Close() error { return nil }

// Play implements train.Player.
func (p *player) Play(ctx context.Context, plan rollout.Plan, onProgress func(rollout.Progress)) (*train.Played, error) {
	if plan.Groups == 0 {
		plan.Groups = p.cfg.Rollout.Groups
	}
	if plan.Members == 0 {
		plan.Members = p.cfg.Rollout.Members
	}
	whole, chunk := played.Order{Job: p.job, Split: p.split, Plan: plan}, p.chunk(plan.Members)
	if err := p.equip(ctx, &whole, p.policy, (plan.Groups+chunk-1)/chunk); err != nil {
		return nil, err
	}
	g := &gathering{
		player: p, orders: cut(whole, chunk), notify: onProgress,
		places: make(chan struct{}, processors.Count()),
	}
	g.progress.Total = plan.Groups * plan.Members
	g.parts, g.failed = make([]credit.Scored, len(g.orders)), make([]error, len(g.orders))
	if err := g.run(ctx, whole); err != nil {
		return nil, err
	}
	return g.played(), nil
}

// chunk is how many groups a shard has: as many as fill an environment.
func (p *player) chunk(members int) int {
	if fleet.Of(p.cfg).Groups > 0 {
		return fleet.Of(p.cfg).Groups
	}
	return max(1, p.cfg.Environment.Slots/members)
}

// cut makes orders of whole groups.
func cut(whole played.Order, groups int) (orders []played.Order) {
	for first := 0; first < whole.Plan.Groups; first += groups {
		o := whole
		o.Plan.FirstGroup += first
		o.Plan.Groups = min(groups, whole.Plan.Groups-first)
		orders = append(orders, o)
	}
	return orders
}

// gathering is a plan under way.
type gathering struct {
	*player
	orders []played.Order
	notify func(rollout.Progress)
	places chan struct{} // one for each result that is read now

	mutex    sync.Mutex // of what follows
	parts    []credit.Scored
	failed   []error // of orders that have no result, and never will
	refused  []int   // orders whose result was no answer, …
	not      []string
	progress rollout.Progress
}

// rounds is how often a shard is submitted whose results are no answers.
const rounds = 3

// run submits the orders until each has a result, or none is to be had.
func (g *gathering) run(ctx context.Context, whole played.Order) error {
	open, not := make([]int, len(g.orders)), make([]string, len(g.orders))
	for i := range open {
		open[i] = i
	}
	for round := 0; len(open) > 0; round++ {
		name, err := g.name(whole, open, round)
		if err != nil {
			return err
		}
		g.refused, g.not = nil, nil
		if err := g.submit(ctx, name, open, not, round == rounds-1); err != nil {
			return err
		}
		open, not = g.refused, g.not
	}
	for _, err := range g.failed {
		if err == nil {
			return nil
		}
	}
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Crashed, Where: g.split, What: fmt.Sprintf("nothing was played: all %d shards failed", len(g.orders)),
		Hint: "correct what the error names; the log of a worker says more", Err: g.failed[0],
	}
}

// name is the name of a Submit: a function of all that decides about its results
// and of how they are cut, so that who asks again after a crash finds what is
// there, and nobody finds what others asked for.
func (g *gathering) name(whole played.Order, open []int, round int) (string, error) {
	text, err := whole.Text()
	if err != nil {
		return "", err
	}
	text = fmt.Appendf(text, " %d %d", len(g.orders), round)
	if round > 0 { // which of them are asked for again depends on who computed them
		for _, i := range open {
			text = fmt.Appendf(text, " %d %t", i, g.orders[i].Lossy)
		}
	}
	return whole.Split + "-" + fleet.DigestOfBytes(text).Hex()[:32], nil
}

// submit has open orders played once. The last round is the one after which a
// result that is no answer is a loss.
func (g *gathering) submit(ctx context.Context, name string, open []int, not []string, last bool) (err error) {
	shards, failed := g.shards(open, not)
	var reading sync.WaitGroup
	defer reading.Wait()
	for r, err := range g.fleet.Submit(ctx, name, shards) {
		if *failed != nil {
			return *failed
		}
		if err != nil {
			return err
		}
		g.counted(r)
		g.places <- struct{}{}
		reading.Go(func() {
			defer func() { <-g.places }()
			g.take(ctx, open[r.Index], r, last)
		})
	}
	return *failed
}

// shards are the shards of open orders. Failed is set if one cannot be made.
func (g *gathering) shards(open []int, not []string) (all iter.Seq[fleet.Shard], failed *error) {
	failed = new(error)
	return func(yield func(fleet.Shard) bool) {
		for k, i := range open {
			s, err := g.orders[i].Shard(k)
			if *failed = err; err != nil {
				return
			}
			if s.Not = not[k]; !yield(s) {
				return
			}
		}
	}, failed
}

// take files the result of order i.
func (g *gathering) take(ctx context.Context, i int, r fleet.Result, last bool) {
	err := r.Err
	var s credit.Scored
	if err == nil {
		if s, err = decoded(g.orders[i], r); err != nil {
			g.blame(ctx, r.Worker, err)
		}
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	switch {
	case err == nil:
		g.parts[i] = s
	case r.Err == nil && !last:
		g.refused, g.not = append(g.refused, i), append(g.not, r.Worker)
		return
	case !last && lossy(err) && !g.orders[i].Lossy:
		g.orders[i].Lossy = true
		g.refused, g.not = append(g.refused, i), append(g.not, "")
		return
	default:
		g.failed[i] = err
		g.parts[i] = lost(g.orders[i].Plan, g.task, err)
		g.log.WarnContext(ctx, "a shard is lost: its episodes have no score", "split", g.split, "groups", g.orders[i].Plan.Groups, "cause", err)
	}
	for _, group := range g.parts[i].Groups {
		for _, t := range group.Trajectories {
			g.progress.Count(t)
		}
	}
	if g.notify != nil {
		g.notify(g.progress)
	}
}

// answer is what a result came to.
type answer struct {
	scored credit.Scored
	err    error
}

// read is what a Verifier reads while it holds results back.
func read(s fleet.Shard, body []byte) any {
	if s.Kind != fleet.Rollout {
		return nil
	}
	o, err := played.ReadOrder(s)
	if err != nil {
		return nil
	}
	scored, err := played.Decode(o, body)
	return answer{scored, err}
}

// decoded is what became of an order.
func decoded(o played.Order, r fleet.Result) (credit.Scored, error) {
	if r.Read != nil {
		if got, ok := r.Read().(answer); ok {
			return got.scored, got.err
		}
	}
	return played.Decode(o, r.Body)
}

// played puts the parts together, in order.
func (g *gathering) played() *train.Played {
	out := &train.Played{Stats: rollout.Stats{Progress: g.progress}}
	for _, s := range g.parts {
		out.Groups = append(out.Groups, s.Groups...)
		out.Evaluations = append(out.Evaluations, s.Evaluations...)
	}
	return out
}

// lost is what becomes of a plan that nobody could play.
func lost(plan rollout.Plan, task string, why error) (s credit.Scored) {
	s.Groups = plan.Lost(task, why.Error())
	says := reward.NewPool(nil, 1)
	for _, g := range s.Groups {
		s.Evaluations = append(s.Evaluations, says.EvaluateUnit(context.Background(), g.Trajectories)...)
	}
	return s
}
