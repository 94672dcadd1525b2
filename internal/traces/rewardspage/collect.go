package rewardspage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Limits of one page.
const (
	mostRewards = 2_000_000 // that a page looks at: the newest traces' first
	mostPairs   = 500       // of a reward and an agent
	PageRows    = 100       // of a list of rewards
)

// Key names a reward: those of one name by another module, rater or judge are
// another reward.
type Key struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"`
	By     string `json:"by,omitempty"`
}

func compare[T cmp.Ordered](a, b T) int { return cmp.Compare(a, b) }

func (k Key) compare(o Key) int {
	return cmp.Or(compare(k.Name, o.Name), compare(k.By, o.By), compare(k.Digest, o.Digest))
}

// Rewards is how everything that a query chooses was rewarded.
type Rewards struct {
	Traces  int      `json:"traces"`         // with a reward span
	Seen    int      `json:"seen"`           // reward spans
	More    bool     `json:"more,omitempty"` // there are more than a page looks at
	Total   Spread   `json:"total"`          // of traces: trace.Total
	Rewards []Reward `json:"rewards"`        // by name, rater and digest
}

// Reward is one reward, in all and by agent.
type Reward struct {
	Key
	All    Spread  `json:"all"`
	Agents []Agent `json:"agents"`
}

// Agent is a reward of what one agent did: the agent that the reward span
// names, or its trace's.
type Agent struct {
	Agent  string `json:"agent"`
	Spread Spread `json:"spread"`
}

// pair is whose scores are collected together.
type pair struct {
	key   Key
	agent string
}

type scores struct {
	scored   []float64
	outcomes map[string]int
}

func (s *scores) add(r *trace.Reward) {
	if r.Score != nil {
		s.scored = append(s.scored, *r.Score)
		return
	}
	if s.outcomes == nil {
		s.outcomes = map[string]int{}
	}
	s.outcomes[r.Outcome]++
}

// errEnough ends a pass.
var errEnough = errors.New("enough")

// Collect looks at all rewards of the traces that q chooses, whatever its limit.
func Collect(ctx context.Context, s *store.Store, q trace.Query) (Rewards, error) {
	q.Limit, q.After, q.Newest = 0, "", true
	out := Rewards{Rewards: []Reward{}}
	pairs := map[pair]*scores{}
	totals := scores{outcomes: map[string]int{}}
	last := ""
	err := s.Rewards(ctx, q, func(h *trace.Head, r *trace.Span) error {
		if out.Seen == mostRewards {
			out.More = true
			return errEnough
		}
		if out.Seen++; h.ID != last {
			last = h.ID
			out.Traces++
			if h.Reward != nil {
				totals.scored = append(totals.scored, *h.Reward)
			} else {
				totals.outcomes["no score"]++
			}
		}
		at := pair{keyOf(r), cmp.Or(r.Agent, h.Agent)}
		if pairs[at] == nil {
			if len(pairs) == mostPairs {
				out.More = true
				return nil
			}
			pairs[at] = &scores{}
		}
		pairs[at].add(r.Reward)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Rewards{}, err
	}
	out.Total = spread(totals.scored, totals.outcomes)
	out.Rewards = join(pairs)
	return out, nil
}

func keyOf(s *trace.Span) Key { return Key{s.Name, s.Reward.Digest, s.Reward.By} }

// join makes a reward of the pairs that have its key.
func join(pairs map[pair]*scores) []Reward {
	order := make([]pair, 0, len(pairs))
	for p := range pairs {
		order = append(order, p)
	}
	slices.SortFunc(order, func(a, b pair) int { return cmp.Or(a.key.compare(b.key), compare(a.agent, b.agent)) })
	out := []Reward{}
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].key == order[0].key {
			n++
		}
		reward, all := Reward{Key: order[0].key}, scores{outcomes: map[string]int{}}
		for _, p := range order[:n] {
			one := pairs[p]
			all.scored = append(all.scored, one.scored...)
			for outcome, k := range one.outcomes {
				all.outcomes[outcome] += k
			}
			reward.Agents = append(reward.Agents, Agent{p.agent, spread(one.scored, one.outcomes)})
		}
		reward.All = spread(all.scored, all.outcomes)
		for i, p := range order[:n] { // bars to compare side by side
			reward.Agents[i].Spread.Bars = fill(reward.All.Bars, pairs[p].scored)
		}
		out, order = append(out, reward), order[n:]
	}
	return out
}
