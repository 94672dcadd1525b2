package exact

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/sdk/merit"
)

const (
	side    = 3
	horizon = 10
	slots   = 8
)

// pusher is Sokoban on three by three cells without walls: the box must reach a corner.
type pusher struct {
	spec  env.Spec
	state [slots]pushing
	luck  bool // a reward depends on what nothing shows
	games int
}

type pushing struct{ player, box, steps int }

func newPusher() *pusher {
	return &pusher{spec: env.Spec{Name: "pusher", Slots: slots, Actions: []string{"up", "down", "left", "right"}, FeatureShape: []int{2 * side * side}, MaxSteps: horizon}}
}

func (p *pusher) Spec() env.Spec { return p.spec }
func (p *pusher) Close() error   { return nil }

func (p *pusher) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	n := p.spec.Features()
	r.Anchor, r.Text, r.Features = make([]string, slots), make([]string, slots), make([]float32, slots*n)
	r.Reward, r.Flags, r.Mask = make([]float64, slots), make([]env.Flag, slots), make([]byte, slots*4)
	for i, op := range b.Ops {
		s := &p.state[i]
		switch op {
		case env.Reset:
			*s = pushing{player: 6 + int(b.Seeds[i]%3), box: 4}
			p.games++
		case env.Step:
			s.move(int(b.Actions[i]))
			if s.steps++; s.box == side-1 {
				r.Reward[i], r.Flags[i] = 1, env.Terminated
			} else if s.steps == horizon {
				r.Flags[i] = env.Truncated
			}
			if p.luck && s.steps == 2 {
				r.Reward[i] = float64(p.games)
			}
		}
		r.Anchor[i] = fmt.Sprint(s.player, " ", s.box)
		r.Text[i], r.Features[i*n+s.player], r.Features[i*n+n/2+s.box] = r.Anchor[i], 1, 1
		copy(r.Mask[i*4:], "\x01\x01\x01\x01")
	}
	return nil
}

func (s *pushing) move(action int) {
	step := func(cell int) (int, bool) {
		d := [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}[action]
		row, column := cell/side+d[0], cell%side+d[1]
		return row*side + column, row >= 0 && row < side && column >= 0 && column < side
	}
	to, ok := step(s.player)
	if !ok {
		return
	}
	if to == s.box {
		box, ok := step(s.box)
		if !ok {
			return
		}
		s.box = box
	}
	s.player = to
}

// even chooses every action equally often.
type even struct{}

func (even) Rate(_ context.Context, _ []policy.Observation, d []policy.Decision) error {
	for i := range d {
		d[i].LogProb = -1.3862943611198906 // ln ¼
	}
	return nil
}

func session(t *testing.T, p *pusher, set ...string) *merit.Session {
	t.Helper()
	cfg, err := merit.ParseConfig("test", []byte("{rewards: [{environment: true}], rollout: {groups: 8, members: 4, parallel: 1}, policy: {hidden: [8]}, advantage: {estimator: gigpo, gamma: 0.95, normalization: mean_norm}}"), ".", set...)
	if cfg == nil {
		require.NoError(t, err)
	}
	s, err := merit.Open(t.Context(), cfg, merit.WithEnvironment(func(context.Context, string, int) (env.Env, error) { c := *p; return &c, nil }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Promise: exact values by hand. With the box beside the goal and one step left, the one of four
// actions that pushes it has the advantage 1 − ¼, and the others −¼.
func TestExactByHand(t *testing.T) {
	e := newPusher()
	g, err := explore(t.Context(), e, 1, horizon)
	require.NoError(t, err)
	chances, err := g.chances(t.Context(), even{})
	require.NoError(t, err)
	s := g.solve(chances, 0.5, horizon)
	found := 0
	for i := range g.nodes {
		if g.nodes[i].anchor != "0 1" {
			continue
		}
		found++
		require.InDelta(t, 0.25, s.value[horizon-1][i], 1e-12)
		for a, m := range g.nodes[i].moves {
			want := -0.25
			if a == 3 {
				want = 0.75
			}
			require.InDelta(t, want, s.after(horizon-1, m)-s.value[horizon-1][i], 1e-12)
		}
		last, after := s.value[horizon-1], g.nodes[i].moves
		require.InDelta(t, 0.25+0.5*0.25*(2*last[i]+last[after[1].to]), s.value[horizon-2][i], 1e-12, "up and left lead nowhere")
	}
	require.Equal(t, 1, found)
	require.Equal(t, 8*8, len(g.nodes), "every place of the player and the box")
	for steps := range horizon {
		require.GreaterOrEqual(t, s.value[steps][0], s.value[steps+1][0], "more time is never worth less")
	}
}

// Promise: 64 continuations of each state give the advantages of its steps with a correlation of
// at least 0.95, and so do pairs with the same randomness; GiGPO is far from that.
func TestMonteCarlo(t *testing.T) {
	r, err := Measure(t.Context(), session(t, newPusher(), "rollout.members=2"), Options{Split: "test", Groups: 6, Continuations: 64})
	require.NoError(t, err)
	rows := map[string]Row{}
	for _, row := range r.Rows {
		rows[row.Name] = row
	}
	require.GreaterOrEqual(t, rows["Monte Carlo, 64 from each state"].Pearson, 0.95)
	require.GreaterOrEqual(t, rows["counterfactual, 64 pairs"].Pearson, 0.95)
	require.Greater(t, rows["Monte Carlo, 64 from each state"].Pearson, rows["Monte Carlo, 4 from each state"].Pearson)
	require.Less(t, rows["gigpo"].Pearson, 0.8)
	require.Equal(t, rows["gigpo"].Steps, rows["gigpo"].EnvSteps)
	require.Greater(t, rows["counterfactual, 64 pairs"].EnvSteps, rows["Monte Carlo, 64 from each state"].EnvSteps)
}

// Promise: the numbers do not depend on the number of workers, or of groups in a batch.
func TestSameAtAnyParallelism(t *testing.T) {
	of := func(set ...string) *Results {
		r, err := Measure(t.Context(), session(t, newPusher(), set...), Options{Split: "test", Groups: 4, Continuations: 4})
		require.NoError(t, err)
		r.Seconds = 0
		return r
	}
	want := of()
	require.Equal(t, want, of("rollout.parallel=3"))
	require.Equal(t, want, of("rollout.groups=3"))
}

// Promise: an environment whose answers nothing shows is named, with the step.
func TestHiddenState(t *testing.T) {
	p := newPusher()
	p.luck = true
	_, err := Measure(t.Context(), session(t, p), Options{Split: "test", Groups: 8})
	require.ErrorContains(t, err, "not determined by what it shows")
}
