package creditbench

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
)

// Branches is how the episodes of an estimator branch.
type Branches struct {
	Every    int  // steps between the states that episodes leave
	Children int  // branches from each of them
	Other    bool // a branch takes another action than its parent, and has its randomness afterwards
}

// Branching is the plan of the estimators that compare branches, with GiGPO and GraphGPO in the same episodes,
// beside those without branches that the others are compared with. All have the settings of a new
// configuration.
func Branching() Plan {
	p := Plan{Members: []int{8}, Seeds: 10}
	add := func(name, estimator string, b *Branches) {
		cfg := advantage.Default()
		cfg.Estimator = estimator
		p.Estimators = append(p.Estimators, Estimator{Name: name, Config: cfg, Branches: b})
	}
	for _, name := range []string{"gae", "graphgpo", "gigpo"} {
		add(name, name, nil)
	}
	often, pairs := &Branches{Every: 5, Children: 2}, &Branches{Every: 3, Children: 1, Other: true}
	add("gigpo, branches", "gigpo", often)
	add("graphgpo, branches", "graphgpo", often)
	add("tree", "tree", often)
	add("vine", "vine", often)
	add("counterfactual", "counterfactual", pairs)
	return p
}

// branched plays groups whose members branch, until the batch has as many steps as one without
// branches.
func (w *World) branched(b *Branches, p Policy, e *Exact, members int, r *rand.Rand) *episodes {
	out := new(episodes)
	next, played, own, all := int32(0), 0, 0, 0 // members, their steps, and those of branches as well
	for g := 0; g == 0 || all*played < episodesOfABatch*own; g++ {
		start := w.starts[r.IntN(len(w.starts))]
		first := next
		var told []*course
		for range members {
			c := &course{seed: r.Uint64(), policy: r.Uint64(), state: start, parent: -1}
			w.run(out, c, int32(g), next, p, e)
			told, next, own = append(told, c), next+1, own+len(c.states)
			all, played = all+len(c.states), played+1
		}
		for m, parent := range told {
			at := b.Every
			if b.Other { // the other members say what the policy does at the start, but not under the same chance
				at = 0
			}
			for ; at < len(parent.states); at += b.Every {
				if b.Other && p[w.keys[parent.states[at]]][parent.actions[at]] == 1 {
					continue
				}
				for range b.Children {
					c := &course{seed: parent.seed, policy: r.Uint64(), state: start, parent: first + int32(m), at: at, from: parent, other: b.Other}
					w.run(out, c, int32(g), next, p, e)
					next, all = next+1, all+len(c.states)-at
				}
			}
		}
	}
	score := out.rows.AddReward("score", 1)
	copy(score, out.rows.Score)
	return out
}

// course is an episode: what it met and did. All chances of the world come from seed, so that a
// branch meets those of its parent.
type course struct {
	seed, policy    uint64
	state           int
	states, actions []int

	parent int32 // trajectory, −1 = none
	at     int   // the first own step
	from   *course
	other  bool
}

// choose returns the action of step t.
func (c *course) choose(t int, chances []float64) int {
	if c.from != nil && t < c.at {
		return c.from.actions[t]
	}
	stream := c.policy
	if c.other && t > c.at {
		stream = c.from.policy
	}
	r := rand.New(rand.NewPCG(stream, uint64(t)))
	if !c.other || t != c.at {
		return draw(chances, r)
	}
	rest := slices.Clone(chances)
	taken := c.from.actions[t]
	for a := range rest {
		rest[a] /= 1 - chances[taken]
	}
	rest[taken] = 0
	return draw(rest, r)
}

// run plays one episode and adds its rows.
func (w *World) run(out *episodes, c *course, group, trajectory int32, p Policy, e *Exact) {
	rows, first, state := &out.rows, out.rows.Len(), c.state
	for t := 0; t < w.Horizon && state >= 0; t++ {
		chances := p[w.keys[state]]
		a := c.choose(t, chances)
		c.states, c.actions = append(c.states, state), append(c.actions, a)
		out.visits, out.exact = append(out.visits, visit{t, state, a}), append(out.exact, e.Advantage(t, state, a))
		rows.Group, rows.Trajectory, rows.Step = append(rows.Group, group), append(rows.Trajectory, trajectory), append(rows.Step, int32(t))
		rows.Anchor, rows.Value, rows.LogProb = append(rows.Anchor, w.keys[state]), append(rows.Value, e.value[t][state]), append(rows.LogProb, math.Log(chances[a]))
		rows.BranchOf, rows.BranchAt = append(rows.BranchOf, c.parent), append(rows.BranchAt, int32(c.at))
		rows.Reward, rows.Terminated, rows.Truncated = append(rows.Reward, 0), append(rows.Terminated, false), append(rows.Truncated, false)
		state = follow(w.moves[state][a], rand.New(rand.NewPCG(c.seed, uint64(t))))
	}
	last, score := rows.Len()-1, 0.0
	if state == won {
		score = 1
	}
	rows.Reward[last], rows.Terminated[last], rows.Truncated[last] = score, state < 0, state >= 0
	for range rows.Len() - first {
		rows.Score = append(rows.Score, score)
	}
}

// learned returns the episodes and the advantages without the rows that nothing is learned from,
// and how many steps were played.
func (out *episodes) learned(advantages []float64, result *advantage.Result) (kept *episodes, found []float64, steps int) {
	if out.rows.BranchOf == nil {
		return out, advantages, out.rows.Len()
	}
	kept = new(episodes)
	for i, a := range advantages {
		if out.rows.BranchOf[i] < 0 || out.rows.Step[i] >= out.rows.BranchAt[i] {
			steps++
		}
		if result.Weight[i] > 0 {
			kept.visits, kept.exact, found = append(kept.visits, out.visits[i]), append(kept.exact, out.exact[i]), append(found, a)
		}
	}
	return kept, found, steps
}
