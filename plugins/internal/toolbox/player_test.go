package toolbox

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/task"
	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/world"
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// plays is one episode of a player: what it came to.
type plays struct {
	success, reward, steps float64
	metrics                map[string]float64
}

// scripted is the player that reads the request as a program would: it takes
// the parts in order, looks up what it does not know, takes ids of the request
// at their word until they fail, asks for access where it is denied, and calls
// again what failed for a moment. It sees what the agent sees.
func scripted(s *chooser) int {
	m := s.env.menu
	for i := range s.task.Goals {
		g := &s.task.Goals[i]
		if s.judge.Met(i) {
			continue
		}
		if area := g.Kind.Tool().Signature().Area; s.denied[area] {
			return m.find(func(c *choice) bool { return c.call.Tool == world.RequestAccess && c.call.Args.Area == area.String() })
		}
		if look, ok := g.Find(); ok && !s.ready(g) {
			return m.find(func(c *choice) bool { return c.call == look })
		}
		want := g.Do("", s.read[g.From])
		return m.find(func(c *choice) bool {
			call := c.with(&held{name: g.Target, address: strings.ToLower(g.Target)})
			return call == want && (c.needs == contactHand) == (g.Guest != "" || g.Kind == task.UpdateContact)
		})
	}
	return m.find(func(c *choice) bool { return c.call.Tool == world.Finish })
}

func (m *menu) find(is func(*choice) bool) int {
	return slices.IndexFunc(m.choices, func(c choice) bool { return is(&c) })
}

// chance takes any action that is available.
func chance(rng *random.Source) func(s *chooser) int {
	return func(s *chooser) int {
		for {
			i := rng.Below(len(s.env.menu.choices))
			if needs := s.env.menu.choices[i].needs; needs == noHand || s.hands[needs].id != "" {
				return i
			}
		}
	}
}

// play plays episodes of the test split.
func play(t testing.TB, o Options, n int, act func(*chooser) int) []plays {
	e, err := newEnvironment(plugin.Setup{Slots: 1, Split: plugin.Test}, o)
	require.NoError(t, err)
	s := &chooser{episode: episode{env: e.(*environment)}}
	all := make([]plays, n)
	for seed := range all {
		turn := plugin.Turn{Mask: slices.Repeat([]byte{1}, len(s.env.menu.choices))}
		require.NoError(t, s.Reset(uint64(seed), &turn))
		p := &all[seed]
		for !turn.Terminated && !turn.Truncated {
			a := act(s)
			require.GreaterOrEqual(t, a, 0, s.task.Text)
			turn = plugin.Turn{Mask: slices.Repeat([]byte{1}, len(s.env.menu.choices))}
			require.NoError(t, s.Step(plugin.Action{Index: a}, &turn))
			p.reward += turn.Reward
			p.steps++
		}
		if turn.Terminated && s.succeeded() {
			p.success = 1
		}
		p.metrics = map[string]float64{"calls": float64(s.calls), "extra_calls": float64(s.calls - s.task.Needed), "state_match": s.stateMatch(), "call_match": s.judge.CallMatch()}
	}
	return all
}

// mean is that of a column with its 95 % interval.
func mean(all []plays, of func(plays) float64) (m, half float64) {
	var sum, squares float64
	for _, p := range all {
		sum, squares = sum+of(p), squares+of(p)*of(p)
	}
	n := float64(len(all))
	m = sum / n
	return m, 1.96 * math.Sqrt(max(squares/n-m*m, 0)/n)
}

// levels are the difficulties of the README's table.
var levels = []struct {
	name   string
	change func(*Options)
}{
	{"easy", func(o *Options) {
		o.Calls, o.Distractors, o.IDs, o.Errors = [2]int{1, 2}, 0, 0, Errors{}
	}},
	{"default", func(*Options) {}},
	{"hard", func(o *Options) {
		o.Calls, o.MaxSteps, o.Distractors, o.IDs, o.Ordered = [2]int{4, 6}, 24, 6, 0.5, 0.5
		o.Errors = Errors{Transient: 0.3, Missing: 0.5, Permission: 0.3}
	}},
}

// Promise: the scripted player does every task at every difficulty, in the
// split for tests, and chance none worth speaking of. MERIT_SCORES=1 prints the
// README's table from more episodes.
func TestScores(t *testing.T) {
	n := 40
	if os.Getenv("MERIT_SCORES") != "" {
		n = 2000
	}
	for _, l := range levels {
		o := defaults()
		o.Form = formChoice
		l.change(&o)
		rng := random.Source(1)
		for _, p := range []struct {
			name string
			act  func(*chooser) int
		}{{"random", chance(&rng)}, {"scripted", scripted}} {
			all := play(t, o, n, p.act)
			row := fmt.Sprintf("| %s, %s |", l.name, p.name)
			for _, of := range []func(plays) float64{
				func(p plays) float64 { return p.success }, func(p plays) float64 { return p.reward }, func(p plays) float64 { return p.metrics["calls"] },
				func(p plays) float64 { return p.metrics["extra_calls"] }, func(p plays) float64 { return p.metrics["state_match"] }, func(p plays) float64 { return p.metrics["call_match"] },
			} {
				m, half := mean(all, of)
				row += fmt.Sprintf(" %.3f ± %.3f |", m, half)
			}
			t.Log(row)
			success, _ := mean(all, func(p plays) float64 { return p.success })
			if p.name == "scripted" {
				require.Equal(t, 1.0, success, row)
				state, _ := mean(all, func(p plays) float64 { return p.metrics["state_match"] })
				require.Equal(t, 1.0, state, row)
			} else {
				require.Less(t, success, 0.1, row)
			}
		}
	}
}
