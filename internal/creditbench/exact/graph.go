// Package exact computes how much every action of recorded episodes changes what an episode can
// expect, without sampling: it visits every state that an environment reaches from a start, and
// solves them backwards from the last step. The estimators are then compared with these numbers,
// in the user's own environment and under the user's own policy.
package exact

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// maxStates keeps a graph within some gigabytes, and its search within minutes.
const maxStates = 200_000

// graph is every state that actions lead to from a start. What follows an action is certain.
type graph struct {
	spec  env.Spec
	nodes []node         // the first one is the start
	known map[string]int // nodes by key
}

// node is a state as a policy sees it. States that look the same are one.
type node struct {
	anchor   string
	features []float32
	mask     []byte
	path     []int32 // the fewest actions that lead here
	moves    []move  // by action; nil where no step is left
}

// move is what an action leads to.
type move struct {
	to     int // a node, or end
	reward float64
}

// end is the end of an episode.
const end = -1

// answer is what an environment says after a path of actions.
type answer struct {
	node
	reward float64
	flags  env.Flag
}

// explore visits every state from the start of a seed. An episode has at most horizon steps.
func explore(ctx context.Context, e env.Env, seed uint64, horizon int) (*graph, error) {
	first, err := play(ctx, e, seed, [][]int32{nil})
	if err != nil {
		return nil, err
	}
	g := &graph{spec: e.Spec(), nodes: []node{first[0].node}, known: map[string]int{first[0].key(): 0}}
	for begin := 0; begin < len(g.nodes) && len(g.nodes[begin].path) < horizon; {
		end := len(g.nodes)
		answers, err := play(ctx, e, seed, g.paths(begin, end))
		if err == nil {
			err = g.expand(begin, end, answers, horizon)
		}
		if err != nil {
			return nil, err
		}
		begin = end
	}
	return g, nil
}

// paths returns where each action leads from the nodes begin … end−1, which are equally far from the start.
func (g *graph) paths(begin, end int) (paths [][]int32) {
	for i := begin; i < end; i++ {
		n := &g.nodes[i]
		for a, available := range n.mask {
			if available != 0 {
				paths = append(paths, append(slices.Clip(n.path), int32(a)))
			}
		}
	}
	return paths
}

// expand sets the moves of the nodes begin … end−1 from the answers to their paths.
func (g *graph) expand(begin, end int, answers []answer, horizon int) (err error) {
	for i := begin; i < end; i++ {
		moves := make([]move, len(g.spec.Actions))
		for a := range moves {
			if g.nodes[i].mask[a] == 0 {
				continue
			}
			if moves[a], err = g.follow(&answers[0], len(g.nodes[i].path)+1 < horizon); err != nil {
				return err
			}
			answers = answers[1:]
		}
		g.nodes[i].moves = moves
	}
	return nil
}

// follow adds the state of an answer. More says whether an episode can have steps after it.
func (g *graph) follow(a *answer, more bool) (move, error) {
	if a.flags&env.Terminated != 0 || !more {
		return move{end, a.reward}, nil
	}
	if a.flags&env.Truncated != 0 {
		return move{}, g.unsuited(fmt.Sprintf("it cuts an episode off after %d steps, before its limit", len(a.path)), "use an environment that cuts episodes off at its limit of steps only")
	}
	key := a.key()
	n, ok := g.known[key]
	if !ok {
		n = len(g.nodes)
		g.known[key], g.nodes = n, append(g.nodes, a.node)
	}
	if n >= maxStates {
		return move{}, g.unsuited(fmt.Sprintf("a start leads to more than %d states", maxStates), "choose a smaller task in environment.options")
	}
	return move{n, a.reward}, nil
}

func (g *graph) unsuited(what, hint string) error {
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Refused, Where: g.spec.Name, What: what, Hint: hint}
}

// key tells states apart by all that a policy sees.
func (n *node) key() string {
	key := append([]byte(n.anchor), 0)
	key = append(key, n.mask...)
	for _, x := range n.features {
		bits := math.Float32bits(x)
		key = append(key, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	return string(key)
}

// play takes each path from the start of a seed, as many at once as the environment has slots.
func play(ctx context.Context, e env.Env, seed uint64, paths [][]int32) ([]answer, error) {
	spec := e.Spec()
	out, batch, reply := make([]answer, len(paths)), env.NewBatch(spec), new(env.Reply)
	batch.Want = env.WantFeatures
	type job struct{ path, taken int } // taken actions, −1 before the reset
	jobs := make([]*job, spec.Slots)
	for next, left := 0, len(paths); left > 0; {
		for i := range jobs {
			batch.Ops[i] = env.Skip
			if jobs[i] == nil && next < len(paths) {
				jobs[i] = &job{next, -1}
				next++
			}
			switch j := jobs[i]; {
			case j == nil:
			case j.taken < 0:
				batch.Ops[i], batch.Seeds[i] = env.Reset, seed
			default:
				batch.Ops[i], batch.Actions[i] = env.Step, paths[j.path][j.taken]
			}
		}
		if err := e.Exchange(ctx, batch, reply); err != nil {
			return nil, err
		}
		for i, j := range jobs {
			if j == nil {
				continue
			}
			if reply.Flags[i]&env.Failed != 0 {
				return nil, &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: spec.Name, What: fmt.Sprintf("it failed after %d steps from seed %d", j.taken+1, seed), Hint: "merit plugin check " + spec.Name + " finds what it does wrong"}
			}
			if j.taken++; j.taken == len(paths[j.path]) {
				out[j.path] = answerOf(&spec, reply, i, paths[j.path])
				jobs[i], left = nil, left-1
			}
		}
	}
	return out, nil
}

// answerOf copies row i of a reply.
func answerOf(spec *env.Spec, reply *env.Reply, i int, path []int32) answer {
	actions, n := len(spec.Actions), spec.Features()
	a := answer{node: node{anchor: reply.Anchor[i], path: path}, reward: reply.Reward[i], flags: reply.Flags[i]}
	a.mask = append(a.mask, reply.Mask[i*actions:(i+1)*actions]...)
	a.features = append(a.features, reply.Features[i*n:(i+1)*n]...)
	return a
}

// advantages returns the exact advantage of every step of an episode from the start of g.
func (g *graph) advantages(s *solved, t *rl.Trajectory) ([]float64, error) {
	differs := func(step int, what string) error {
		return g.unsuited(fmt.Sprintf("what it does is not determined by what it shows: at step %d of %s, %s", step, t.ID, what), "use an environment without chance and without hidden state, such as frozenlake with slippery: false")
	}
	at, out := 0, make([]float64, len(t.Steps))
	for k := range t.Steps {
		step := &t.Steps[k]
		if at == end || step.Held {
			return nil, differs(k, "the episode should have ended")
		}
		if n := &g.nodes[at]; step.Anchor != "" && step.Anchor != n.anchor {
			return nil, differs(k, "another state was seen")
		}
		m := g.nodes[at].moves[step.Action.Choice]
		if m.reward != step.EnvReward {
			return nil, differs(k, fmt.Sprintf("the reward was %v, not %v", step.EnvReward, m.reward))
		}
		out[k] = s.after(k, m) - s.value[k][at]
		at = m.to
	}
	return out, nil
}
