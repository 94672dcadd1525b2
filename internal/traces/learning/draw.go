package learning

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/rl"
)

// Draw returns what iteration n learns from: the given number of groups of the train
// split, each with at most the given number of traces of one task, drawn without
// replacement. When all groups have been drawn, a new order begins. The result
// depends only on the index, n and seed.
func (s *Set) Draw(ctx context.Context, n int, seed rl.Seed, groups, members int) ([]*rl.Group, error) {
	all := s.groups[splitTrain]
	groups = min(groups, len(all))
	out := make([]*rl.Group, 0, groups)
	var order []int
	round := -1
	for k := range groups {
		at := (n-1)*groups + k
		if at/len(all) != round {
			round = at / len(all)
			order = shuffled(len(all), seed.Child(uint64(round)))
		}
		which := order[at%len(all)]
		g := all[which]
		chosen := shuffled(g.to-g.from, seed.Path(uint64(round), uint64(which)))
		one := &rl.Group{ID: fmt.Sprintf("train-%d-%s", n, s.index[g.from].Group)}
		one.Task.ID = s.index[g.from].Group
		for _, member := range chosen[:min(members, len(chosen))] {
			t, err := s.load(ctx, g.from+member)
			if err != nil {
				return nil, err
			}
			one.Trajectories = append(one.Trajectories, as(t, fmt.Sprintf("train-%d-%s", n, t.ID), one.ID))
		}
		out = append(out, one)
	}
	return out, nil
}

// HeldOut returns at most the given number of traces of validation or test, in the
// order of the index, each in a group by itself.
func (s *Set) HeldOut(ctx context.Context, split string, most int) ([]*rl.Group, error) {
	var out []*rl.Group
	for _, g := range s.groups[split] {
		for i := g.from; i < g.to && len(out) < most; i++ {
			t, err := s.load(ctx, i)
			if err != nil {
				return nil, err
			}
			id := split + "-" + t.ID
			out = append(out, &rl.Group{ID: id, Task: rl.Task{ID: t.Task}, Trajectories: []*rl.Trajectory{as(t, id, t.Group)}})
		}
	}
	return out, nil
}

// as returns a copy of t with another id and group, and with its own steps, because
// credit is written into the steps.
func as(t *rl.Trajectory, id, group string) *rl.Trajectory {
	c := *t
	c.ID, c.Group = id, group
	c.Steps = append([]rl.Step(nil), t.Steps...)
	return &c
}

// shuffled returns a permutation of 0 … n−1 that depends only on seed (Fisher and
// Yates).
func shuffled(n int, seed rl.Seed) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		k := int(seed.Child(uint64(i)).Uniform() * float64(i+1))
		order[i], order[k] = order[k], order[i]
	}
	return order
}
