package rollout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// The places at which episodes branch.
const (
	branchNowhere = "none"
	branchEvery   = "every"
	branchEntropy = "entropy"
	branchValue   = "value"
	branchRandom  = "random"
)

// BranchConfig says at which states the episodes of training branch, and how often. A branch is
// another continuation of the episode from such a state. The start is one only with OtherAction:
// otherwise, its other continuations are the members of the group.
type BranchConfig struct {
	// Where is how the states are chosen: none, every (each state whose step is a multiple of
	// every), entropy (where the policy is least certain), value (where the estimate of the critic
	// has changed most), or random.
	Where string `yaml:"where" json:"where" jsonschema:"enum=none,enum=every,enum=entropy,enum=value,enum=random"`
	// Every is the distance of the states with where: every, in steps.
	Every int `yaml:"every" json:"every" jsonschema:"minimum=1"`
	// Points is the number of states of an episode with where: entropy, value or random.
	Points int `yaml:"points" json:"points" jsonschema:"minimum=1"`
	// Children is the number of branches from each state.
	Children int `yaml:"children" json:"children" jsonschema:"minimum=1,maximum=1024"`
	// Depth is how often branches branch: with 1, only the members of a group do.
	Depth int `yaml:"depth" json:"depth" jsonschema:"minimum=1,maximum=16"`
	// MaxSteps is the number of steps for all branches of a group; 0 means no limit. A state is
	// left out if its branches would exceed the rest, were they as long as the episode itself.
	// Those that are longer may exceed it.
	MaxSteps int `yaml:"max_steps" json:"max_steps" jsonschema:"minimum=0"`
	// OtherAction makes branches begin with another action than the episode, and then gives the
	// policy the same randomness.
	OtherAction bool `yaml:"other_action" json:"other_action"`
}

// On reports whether episodes branch at all.
func (c BranchConfig) On() bool { return c.Where != branchNowhere && c.Where != "" }

// grow plays the branches of groups and adds them. A round is all branches that fit the limit of
// their group if they are as long as the episodes that they leave; the next round uses the rest.
func (c *Collector) grow(ctx context.Context, plan Plan, groups []*rl.Group, stats *Stats, onProgress func(Progress)) error {
	if c.cfg.Branch.Where == branchEntropy && !uncertain(groups) {
		return misplaced("entropy, but the policy reports none", "set rollout.branch.where to every or random")
	}
	all := make([]branching, len(groups))
	for i, g := range groups {
		all[i] = newBranching(c.cfg.Branch, i, g)
	}
	for range c.cfg.Branch.Depth {
		for i := range all {
			if err := all[i].choose(plan); err != nil {
				return err
			}
		}
		for round := nextRound(all); len(round) > 0; round = nextRound(all) {
			episodes, more, err := c.resume(ctx, plan, round, stats.Progress, onProgress)
			more.Retried, more.Passing = more.Retried+stats.Retried, more.Passing+stats.Passing
			*stats = more
			if err != nil {
				return err
			}
			for k, t := range episodes {
				all[round[k].Group].add(&round[k], t)
			}
		}
	}
	return nil
}

// nextRound returns the branches that all groups can afford now.
func nextRound(all []branching) (round []Branch) {
	for i := range all {
		round = append(round, all[i].affordable()...)
	}
	return round
}

// uncertain reports whether the policy says for any step how uncertain it was.
func uncertain(groups []*rl.Group) bool {
	steps := 0
	for _, g := range groups {
		for _, t := range g.Trajectories {
			for k := range t.Steps {
				if steps++; t.Steps[k].Entropy != 0 {
					return true
				}
			}
		}
	}
	return steps == 0
}

// misplaced is the error of rollout.branch.where for a policy that it does not suit.
func misplaced(what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "rollout.branch.where", What: "is " + what, Hint: hint}
}

// branching is the branches of a group while they grow.
type branching struct {
	cfg    BranchConfig
	index  int // of the group in the plan
	group  *rl.Group
	from   int     // the first episode that has not been asked for its points
	points []point // at which no branch has begun yet, in the order in which they count
	used   int     // steps of all branches
	number int     // of the next branch
	size   int     // members
	luck   map[string]int
}

// point is a state at which an episode branches.
type point struct {
	episode *rl.Trajectory
	at      int // index of the step that saw it
}

func newBranching(cfg BranchConfig, index int, g *rl.Group) branching {
	w := branching{cfg: cfg, index: index, group: g, size: len(g.Trajectories), luck: make(map[string]int, len(g.Trajectories))}
	for m, t := range g.Trajectories {
		w.luck[t.ID] = m
	}
	return w
}

// choose finds the points of the episodes that are new: first the first choice of each, then the
// second ones.
func (w *branching) choose(plan Plan) error {
	w.points = nil
	var chosen [][]int
	fresh := w.group.Trajectories[w.from:]
	for i, t := range fresh {
		at, err := w.cfg.points(t, plan.Seed.Path(uint64(plan.FirstGroup+w.index), uint64(w.from+i), math.MaxUint64))
		if err != nil {
			return err
		}
		chosen = append(chosen, at)
	}
	w.from = len(w.group.Trajectories)
	for rank, more := 0, true; more; rank++ {
		more = false
		for i, at := range chosen {
			if rank < len(at) {
				w.points, more = append(w.points, point{fresh[i], at[rank]}), true
			}
		}
	}
	return nil
}

// points returns the steps at which t branches, those that count most first.
func (c BranchConfig) points(t *rl.Trajectory, seed rl.Seed) ([]int, error) {
	if t.StopReason == rl.StopError {
		return nil, nil
	}
	var at []int
	for k := c.first(t); k < len(t.Steps); k++ {
		if c.fits(&t.Steps[k]) {
			at = append(at, k)
		}
	}
	var weight func(k int) float64
	switch c.Where {
	case branchEvery:
		return at, nil
	case branchEntropy:
		weight = func(k int) float64 { return t.Steps[k].Entropy }
	case branchValue:
		if len(t.Steps) > 0 && t.Steps[0].Value == nil {
			return nil, misplaced("value, but the policy estimates none", "set policy.value_head: true, or rollout.branch.where: entropy")
		}
		weight = func(k int) float64 { return math.Abs(*t.Steps[k].Value - *t.Steps[k-1].Value) }
	case branchRandom:
		weight = func(k int) float64 { return seed.Child(uint64(k)).Uniform() }
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	return at[:min(c.Points, len(at))], nil
}

// first returns the first step at which t may branch.
func (c BranchConfig) first(t *rl.Trajectory) int {
	if c.OtherAction && t.BranchOf == "" && c.Where != branchValue {
		return 0
	}
	return t.BranchAt + 1
}

// fits reports whether an episode may branch at the state that s saw.
func (c BranchConfig) fits(s *rl.Step) bool {
	if c.Where == branchEvery && s.Index%c.Every != 0 {
		return false
	}
	if !c.OtherAction {
		return true
	}
	available := len(s.Available)
	if s.Policy != nil && s.Policy.Mask != nil {
		available = 0
		for _, m := range s.Policy.Mask {
			available += int(min(m, 1))
		}
	}
	return available > 1
}

// affordable returns the branches from the points whose branches fit the rest of the limit, and
// keeps the other points.
func (w *branching) affordable() (round []Branch) {
	left := w.cfg.MaxSteps - w.used
	var kept []point
	for _, p := range w.points {
		expected := w.cfg.Children * (len(p.episode.Steps) - p.at)
		if w.cfg.MaxSteps > 0 && expected > left {
			kept = append(kept, p)
			continue
		}
		left -= expected
		for range w.cfg.Children {
			round = append(round, w.branch(p))
		}
	}
	w.points = kept
	return round
}

func (w *branching) branch(p point) Branch {
	b := Branch{From: p.episode, At: p.at, Group: w.index, Number: w.number, Luck: -1}
	if w.cfg.OtherAction {
		b.Other, b.Luck = true, w.luck[p.episode.ID]
	}
	w.number++
	return b
}

// add puts a branch that was played into its group.
func (w *branching) add(b *Branch, t *rl.Trajectory) {
	w.luck[t.ID] = b.Luck
	if b.Luck < 0 {
		w.luck[t.ID] = w.size + b.Number
	}
	w.used += max(0, len(t.Steps)-t.BranchAt)
	w.group.Trajectories = append(w.group.Trajectories, t)
}

// suits returns what is wrong with c for actions that are free text, if there is anything.
func (c BranchConfig) suits(actions []string) error {
	if !c.On() || !c.OtherAction || len(actions) > 1 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "rollout.branch.other_action",
		What: fmt.Sprintf("is true, but the environment lists %d actions to choose from", len(actions)),
		Hint: "set rollout.branch.other_action: false",
	}
}
