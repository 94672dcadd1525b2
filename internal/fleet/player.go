package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
)

// player is the train.Player of a split.
type player struct {
	*Coordinator
	split  string
	policy policy.Learner
}

// Close implements train.Player. It does nothing, because the caller owns the fleet.
func (p *player) Close() error { return nil }

// Play implements train.Player.
func (p *player) Play(ctx context.Context, plan rollout.Plan, onProgress func(rollout.Progress)) (*train.Played, error) {
	if plan.Groups == 0 {
		plan.Groups = p.cfg.Rollout.Groups
	}
	if plan.Members == 0 {
		plan.Members = p.cfg.Rollout.Members
	}
	whole, chunk := shardcodec.Order{Job: p.job.Digest, Split: p.split, Plan: plan}, p.chunk(plan.Members)
	weights, err := p.attachWeights(ctx, &whole, p.policy, (plan.Groups+chunk-1)/chunk)
	if err != nil {
		return nil, err
	}
	g := &planRun{player: p, weights: weights, orders: cut(whole, chunk), notify: onProgress}
	g.progress.Total = plan.Groups * plan.Members
	g.parts, g.failed = make([]credit.Scored, len(g.orders)), make([]error, len(g.orders))
	if err := g.run(ctx, whole); err != nil {
		return nil, err
	}
	return g.played(), nil
}

// chunk returns the number of groups in a shard. By default they fill the slots of an
// environment.
func (p *player) chunk(members int) int {
	if Of(p.cfg).Groups > 0 {
		return Of(p.cfg).Groups
	}
	return max(1, p.cfg.Environment.Slots/members)
}

// cut splits an order into orders of at most the given number of groups.
func cut(whole shardcodec.Order, groups int) (orders []shardcodec.Order) {
	for first := 0; first < whole.Plan.Groups; first += groups {
		o := whole
		o.Plan = whole.Plan.Part(first, min(groups, whole.Plan.Groups-first))
		orders = append(orders, o)
	}
	return orders
}

// planRun is a plan in progress.
type planRun struct {
	*player
	weights queue.Content
	orders  []shardcodec.Order
	notify  func(rollout.Progress)

	mutex    sync.Mutex // guards the fields below
	parts    []credit.Scored
	failed   []error // errors of orders that were given up
	troubled []int   // orders for which every worker lost episodes
	progress rollout.Progress
}

// run submits the orders. If every worker lost episodes of an order, it submits the order
// once more, now as lossy: episodes that are lost again have no result, and the others keep theirs.
func (g *planRun) run(ctx context.Context, whole shardcodec.Order) error {
	open := make([]int, len(g.orders))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		name, err := g.name(whole, open)
		if err == nil {
			g.troubled = nil
			err = g.each(ctx, name, len(open), func(k int) (queue.Shard, error) { return g.orders[open[k]].Shard(g.job, g.weights) }, func(k int, r queue.Result) {
				g.take(ctx, open[k], r)
			})
		}
		if err != nil {
			return err
		}
		open = g.troubled
	}
	if slices.Contains(g.failed, nil) {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Crashed, Where: g.split, What: fmt.Sprintf("no episode was played: all %d shards failed", len(g.orders)),
		Hint: "fix the cause; the log of a worker has details", Err: g.failed[0],
	}
}

// name returns the job name for Submit. It is a hash of everything that determines the results
// and of how they are split, so that a retry after a crash finds existing results and never
// those of other requests.
func (g *planRun) name(whole shardcodec.Order, open []int) (string, error) {
	text, err := whole.Text()
	if err != nil {
		return "", err
	}
	text = fmt.Appendf(text, " %d", len(g.orders))
	if len(open) < len(g.orders) || g.orders[open[0]].Lossy { // which orders are retried depends on which worker computed them
		text = fmt.Appendf(text, " %d", open)
	}
	return whole.Split + "-" + queue.DigestOfBytes(text).Hex()[:32], nil
}

// take stores the result of order i.
func (g *planRun) take(ctx context.Context, i int, r queue.Result) {
	s, err := scored(g.orders[i], r)
	g.mutex.Lock()
	defer g.mutex.Unlock()
	switch o := &g.orders[i]; {
	case err == nil:
		g.parts[i] = s
	case lossy(err) && !o.Lossy:
		o.Lossy = true
		g.troubled = append(g.troubled, i)
		return
	default:
		g.failed[i] = err
		g.parts[i] = lost(o.Plan, g.task, err)
		g.log.WarnContext(ctx, "a shard was given up; its episodes have no score", "split", g.split, "groups", o.Plan.Groups, "cause", err)
	}
	for _, group := range g.parts[i].Groups {
		g.progress.Total += len(group.Trajectories) - g.orders[i].Plan.Members // branches
		for _, t := range group.Trajectories {
			g.progress.Count(t)
		}
	}
	if g.notify != nil {
		g.notify(g.progress)
	}
}

// read decodes a result as soon as it arrives, while workers compute others.
func read(s queue.Shard, body []byte) (any, error) {
	if s.Kind == queue.Score {
		o, err := shardcodec.ReadScoring(context.Background(), s)
		if err != nil {
			return nil, err
		}
		return shardcodec.DecodeScores(o, body)
	}
	o, err := shardcodec.ReadOrder(s)
	if err != nil {
		return nil, err
	}
	return shardcodec.Decode(o, body)
}

// scored returns the decoded result of an order.
func scored(o shardcodec.Order, r queue.Result) (credit.Scored, error) {
	if r.Err != nil {
		return credit.Scored{}, r.Err
	}
	if s, ok := r.Value.(credit.Scored); ok {
		return s, nil
	}
	return shardcodec.Decode(o, r.Body)
}

// played joins the parts in order.
func (g *planRun) played() *train.Played {
	out := &train.Played{Stats: rollout.Stats{Progress: g.progress}}
	for _, s := range g.parts {
		out.Groups = append(out.Groups, s.Groups...)
		out.Evaluations = append(out.Evaluations, s.Evaluations...)
	}
	return out
}

// lost returns the result of a plan that no worker could play: lost episodes with evaluations
// that have no score.
func lost(plan rollout.Plan, task string, why error) (s credit.Scored) {
	s.Groups = plan.Lost(task, why.Error())
	says := reward.NewPool(nil, 1)
	for _, g := range s.Groups {
		s.Evaluations = append(s.Evaluations, says.EvaluateUnit(context.Background(), g.Trajectories)...)
	}
	return s
}
