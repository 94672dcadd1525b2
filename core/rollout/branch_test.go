package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/stretchr/testify/require"
)

// saver is a walk that saves states.
type saver struct {
	*walk
	fails func() error // what saving and restoring return; nil = nothing does
	count *[2]int      // states that were saved and restored
}

func savingScript(slots int, count *[2]int, fails func() error) Open {
	s := &script{slots: slots, spec: func(_ int, spec *env.Spec) { spec.Snapshots = true }}
	return func(ctx context.Context, worker int) (env.Env, error) {
		e, err := s.Open(ctx, worker)
		return saver{e.(*walk), fails, count}, err
	}
}

func (w saver) Snapshot(_ context.Context, slot int) ([]byte, error) {
	w.script.mu.Lock()
	defer w.script.mu.Unlock()
	if w.fails != nil {
		if err := w.fails(); err != nil {
			return nil, err
		}
	}
	w.count[0]++
	s := w.slots[slot]
	return fmt.Appendf(nil, "%d %d %d", s.seed, s.pos, s.step), nil
}

func (w saver) Restore(_ context.Context, slot int, state []byte) error {
	w.script.mu.Lock()
	defer w.script.mu.Unlock()
	if w.fails != nil {
		if err := w.fails(); err != nil {
			return err
		}
	}
	w.count[1]++
	s := &w.slots[slot]
	_, err := fmt.Sscan(string(state), &s.seed, &s.pos, &s.step)
	return err
}

func branchConfig(where string, change func(*BranchConfig)) Config {
	return config(func(c *Config) {
		c.Branch = BranchConfig{Where: where, Every: 3, Points: 2, Children: 3, Depth: 1}
		if change != nil {
			change(&c.Branch)
		}
	})
}

// branches collects with branches.
func branches(t *testing.T, cfg Config, open Open, p policy.Policy) ([]*rl.Group, Stats) {
	t.Helper()
	c, err := New(cfg, open, p)
	require.NoError(t, err)
	defer c.Close()
	with := plan
	with.Branch = true
	groups, stats, err := c.Collect(t.Context(), with, nil)
	require.NoError(t, err)
	return groups, stats
}

// checkBranches checks what holds for the branches of any plan and returns their number.
func checkBranches(t *testing.T, cfg Config, groups []*rl.Group) (n int) {
	t.Helper()
	for _, g := range groups {
		known := map[string]*rl.Trajectory{}
		for i, e := range g.Trajectories {
			known[e.ID] = e
			require.Equal(t, g.ID, e.Group)
			require.Equal(t, g.Task.Seed, e.Seed)
			if i < cfg.Members {
				require.Empty(t, e.BranchOf)
				continue
			}
			n++
			from := known[e.BranchOf]
			require.NotNil(t, from, "an episode precedes its branches")
			require.Equal(t, fmt.Sprintf("%s-b%d", g.ID, i-cfg.Members), e.ID)
			require.Greater(t, len(e.Steps), e.BranchAt)
			require.Equal(t, from.Steps[:e.BranchAt], e.Steps[:e.BranchAt])
			require.Equal(t, from.Observation(e.BranchAt), e.Observation(e.BranchAt), "it saw the same")
			require.Equal(t, from.Steps[e.BranchAt].Anchor, e.Steps[e.BranchAt].Anchor)
			require.NotEqual(t, rl.StopError, e.StopReason, e.Error)
			last := e.Steps[len(e.Steps)-1]
			require.True(t, last.Terminated || last.Truncated)
		}
	}
	return n
}

// Promise: branches depend on the seed alone, and not on workers, slots or saved states.
func TestBranchesHaveTheSameBytesAtAnyParallelism(t *testing.T) {
	for _, where := range []string{"every", "entropy", "value", "random"} {
		for _, other := range []bool{false, true} {
			cfg := branchConfig(where, func(c *BranchConfig) { c.Every, c.Depth, c.OtherAction = 7, 2, other })
			var first []*rl.Group
			var text []byte
			for _, at := range []struct {
				parallel, slots int
				saves           bool
			}{{1, 1, false}, {8, 64, false}, {1, 1, true}, {2, 7, true}} {
				cfg.Parallel = at.parallel
				open := (&script{slots: at.slots}).Open
				count := new([2]int)
				if at.saves {
					open = savingScript(at.slots, count, nil)
				}
				groups, stats := branches(t, cfg, open, dice{value: true})
				require.Equal(t, checkBranches(t, cfg, groups), stats.Branches)
				require.Greater(t, stats.Branches, 24)
				data, err := json.Marshal(groups)
				require.NoError(t, err)
				if first == nil {
					first, text = groups, data
				}
				require.Equal(t, string(text), string(data), "%s %+v", where, at)
				require.Equal(t, first, groups)
				if at.saves && at.slots == 1 {
					require.Positive(t, count[1], "states were restored")
					require.Less(t, stats.Repeated, 2*stats.Steps)
				}
			}
		}
	}
}

// Promise: each way to choose states chooses those that it says.
func TestWhereEpisodesBranch(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	episode := &rl.Trajectory{Steps: []rl.Step{
		{Index: 0, Entropy: 9, Value: value(0)}, {Index: 1, Entropy: 1, Value: value(5)}, {Index: 2, Entropy: 3, Value: value(5)},
		{Index: 3, Entropy: 2, Value: value(4)}, {Index: 4, Entropy: 3, Value: value(1)},
	}}
	cases := []struct {
		where string
		from  int
		want  []int
	}{
		{"every", 0, []int{2, 4}}, {"every", 2, []int{4}},
		{"entropy", 0, []int{2, 4}}, {"entropy", 2, []int{4, 3}}, {"entropy", 3, []int{4}},
		{"value", 0, []int{1, 4}}, {"value", 1, []int{4, 3}},
	}
	for _, c := range cases {
		e := *episode
		e.BranchAt = c.from
		got, err := BranchConfig{Where: c.where, Every: 2, Points: 2}.points(&e, 1)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s from %d", c.where, c.from)
	}
	seen := map[int]int{}
	for seed := range 4000 {
		got, err := BranchConfig{Where: "random", Points: 1}.points(episode, rl.Seed(seed))
		require.NoError(t, err)
		seen[got[0]]++
	}
	for k := 1; k < 5; k++ {
		require.InDelta(t, 1000, seen[k], 120)
	}
	require.Zero(t, seen[0])

	episode.Steps[2].Policy = &rl.Sampled{Mask: []byte{0, 1, 0}}
	for k := range episode.Steps {
		episode.Steps[k].Available = []string{"a", "b", "c"}
	}
	got, err := BranchConfig{Where: "every", Every: 1, OtherAction: true}.points(episode, 1)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 3, 4}, got, "one action leaves nothing to choose")

	for where, what := range map[string]string{"value": "is value, but the policy estimates none", "entropy": "is entropy, but the policy reports none"} {
		silent := dice{change: func(_ policy.Observation, d *policy.Decision) { d.Entropy = 0 }}
		c, err := New(branchConfig(where, nil), (&script{slots: 4}).Open, silent)
		require.NoError(t, err)
		with := plan
		with.Branch = true
		_, _, err = c.Collect(t.Context(), with, nil)
		require.ErrorContains(t, err, "rollout.branch.where: "+what)
		require.NoError(t, c.Close())
	}
}

// Promise: with other_action, a branch begins with another action than the episode did, and has
// its randomness afterwards.
func TestOtherAction(t *testing.T) {
	masked := dice{change: func(o policy.Observation, d *policy.Decision) {
		for d.Action.Choice < 3 && o.Mask[d.Action.Choice] == 0 {
			d.Action.Choice = (d.Action.Choice + 1) % 3
		}
		d.Entropy = o.Seed.Uniform()
	}}
	cfg := branchConfig("every", func(c *BranchConfig) { c.OtherAction = true })
	groups, _ := branches(t, cfg, (&script{slots: 4}).Open, masked)
	require.Positive(t, checkBranches(t, cfg, groups))
	for _, g := range groups {
		known := map[string]*rl.Trajectory{}
		for _, e := range g.Trajectories {
			known[e.ID] = e
			from := known[e.BranchOf]
			if from == nil {
				continue
			}
			own, other := e.Steps[e.BranchAt], from.Steps[e.BranchAt]
			require.NotEqual(t, other.Action.Choice, own.Action.Choice)
			require.Zero(t, own.Policy.Mask[other.Action.Choice])
			for k := e.BranchAt + 1; k < min(len(e.Steps), len(from.Steps)); k++ {
				require.Equal(t, from.Steps[k].Entropy, e.Steps[k].Entropy, "the same draw")
			}
		}
	}
	c, err := New(cfg, (&script{slots: 4, text: true}).Open, dice{})
	require.NoError(t, err)
	defer c.Close()
	_, _, err = c.Collect(t.Context(), plan, nil)
	require.ErrorContains(t, err, "rollout.branch.other_action")
}

// Promise: branches keep to the steps of their group, and use what episodes leave
// by ending early. Only those of the last states exceed the limit, by how much they are longer than
// the episodes that they left.
func TestBranchesKeepTheLimit(t *testing.T) {
	for _, most := range []int{2, 60, 200, 1000} {
		cfg := branchConfig("every", func(c *BranchConfig) { c.Depth, c.MaxSteps, c.Children = 2, most, 2 })
		groups, _ := branches(t, cfg, (&script{slots: 4}).Open, dice{})
		require.True(t, checkBranches(t, cfg, groups) > 0 || most == 2)
		for _, g := range groups {
			known := map[string]*rl.Trajectory{}
			used, over := 0, 0
			for _, e := range g.Trajectories {
				known[e.ID] = e
				if from := known[e.BranchOf]; from != nil {
					used += len(e.Steps) - e.BranchAt
					over += max(0, len(e.Steps)-len(from.Steps))
				}
			}
			require.LessOrEqual(t, used, most+over)
			if most == 200 {
				require.Greater(t, used, most-2*cfg.MaxSteps, "what episodes leave is used")
			}
		}
	}
	cfg := branchConfig("every", func(c *BranchConfig) { c.MaxSteps = 2 })
	require.ErrorContains(t, errors.Join(cfg.Validate()...), "branch.max_steps: is 2, but the 3 branches from a state take at least 3 steps")
}

// Promise: a state that cannot be saved or restored is reached by repeating the steps, and an
// environment that crashes among branches costs none of them.
func TestBranchesSurviveFaults(t *testing.T) {
	cfg := branchConfig("every", nil)
	want, _ := branches(t, cfg, (&script{slots: 2}).Open, dice{})
	calls := 0
	flaky := func() error {
		if calls++; calls%3 == 0 {
			return errors.New("no memory")
		}
		return nil
	}
	got, _ := branches(t, cfg, savingScript(2, new([2]int), flaky), dice{})
	require.Equal(t, want, got)
	crashing := &script{slots: 2}
	crashing.fault = once(crash, 3, 9)
	got, stats := branches(t, cfg, crashing.Open, dice{})
	require.Equal(t, want, got)
	require.Positive(t, stats.Retried)
}

// Promise: an environment that does not repeat an episode is named, with the step, and the
// other episodes count.
func TestAnEnvironmentThatDoesNotRepeat(t *testing.T) {
	for name, change := range map[string]func(r *env.Reply, i int){
		"the reward was 0 and is 0.5 now":       func(r *env.Reply, i int) { r.Reward[i] = 0.5 },
		"the episode ends there now":            func(r *env.Reply, i int) { r.Flags[i] |= env.Terminated },
		"the state after it is another one now": func(r *env.Reply, i int) { r.Anchor[i] += "'" },
	} {
		c, err := New(config(nil), (&script{slots: 2}).Open, dice{})
		require.NoError(t, err)
		groups, _, err := c.Collect(t.Context(), plan, nil)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		from := groups[0].Trajectories[0]
		changed := &script{slots: 2, reply: func(i int, w walker, _ string, r *env.Reply) {
			if w.step == 2 {
				change(r, i)
			}
		}}
		c, err = New(config(func(c *Config) { c.Retries = 0 }), changed.Open, dice{})
		require.NoError(t, err)
		got, stats, err := c.Continue(t.Context(), plan, []Branch{{From: from, At: 3, Luck: -1}, {From: from, At: 1, Number: 1, Luck: -1}}, nil)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.Equal(t, 1, stats.Failed)
		require.Contains(t, got[0].Error, "it does not repeat "+from.ID+": at step 1, "+name)
		require.Equal(t, rl.StopError, got[0].StopReason)
		require.Empty(t, got[1].Error)
	}
}

// Promise: a branch of a recorded episode, which has no numbers of the policy, is that of the
// episode itself, with the action that was asked for.
func TestContinueARecording(t *testing.T) {
	for _, text := range []bool{false, true} {
		p := dice{change: func(o policy.Observation, d *policy.Decision) {
			if !text {
				return
			}
			d.Action, d.Raw = rl.Action{}, "left"
			if o.Seed.Uniform() > 0.8 {
				d.Raw = "hm" // no action: the environment is not called
			}
		}}
		cfg := config(func(c *Config) { c.Anchor = AnchorMessages })
		c, err := New(cfg, (&script{slots: 3}).Open, p)
		require.NoError(t, err)
		defer c.Close()
		groups, _, err := c.Collect(t.Context(), plan, nil)
		require.NoError(t, err)
		from := groups[2].Trajectories[1]
		require.Equal(t, text, slices.ContainsFunc(from.Steps, func(s rl.Step) bool { return s.Held }))
		data, err := json.Marshal(from)
		require.NoError(t, err)
		var file rl.Trajectory
		require.NoError(t, json.NewDecoder(bytes.NewReader(data)).Decode(&file))
		up := &rl.Action{Kind: rl.ActionChoice, Choice: 2, Text: "stay"}
		list := func(from *rl.Trajectory) (out []Branch) {
			for n := range len(from.Steps) {
				out = append(out, Branch{From: from, At: n, Group: 2, Number: n, Action: up, Luck: 1})
			}
			return out
		}
		want, _, err := c.Continue(t.Context(), plan, list(from), nil)
		require.NoError(t, err)
		got, _, err := c.Continue(t.Context(), plan, list(&file), nil)
		require.NoError(t, err)
		for i := range want {
			require.Empty(t, got[i].Error)
			require.Equal(t, "stay", got[i].Steps[i].Action.Text)
			x, err := json.Marshal(want[i])
			require.NoError(t, err)
			y, err := json.Marshal(got[i])
			require.NoError(t, err)
			require.Equal(t, string(x), string(y))
		}
	}
	c, err := New(config(nil), (&script{slots: 3}).Open, dice{})
	require.NoError(t, err)
	defer c.Close()
	steps := []rl.Step{{Available: []string{"left", "right"}}, {Available: []string{"left"}}}
	for what, b := range map[string]Branch{
		"x: the episode has no steps":   {From: &rl.Trajectory{ID: "x"}},
		"x: the episode has no step 2":  {From: &rl.Trajectory{ID: "x", Steps: steps}, At: 2},
		"x: the episode has no step -1": {From: &rl.Trajectory{ID: "x", Steps: steps}, At: -1},
		"x: step 1 had no other action": {From: &rl.Trajectory{ID: "x", Steps: steps}, At: 1, Other: true},
	} {
		_, _, err = c.Continue(t.Context(), plan, []Branch{b}, nil)
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
		require.ErrorContains(t, err, what)
	}
}
