package rollout

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// Promise: a crash, a hang or garbage costs an attempt, never a trace in the
// result. The clock is synctest's: deadlines and back-off take no time.
func TestAFaultLeavesNoTrace(t *testing.T) {
	clean, _, err := collect(t, config(nil), &script{}, dice{})
	require.NoError(t, err)
	cases := map[string]struct {
		mishap   mishap
		step     int
		restarts int
	}{
		"crash":             {crash, 2, 1},
		"crash at reset":    {crash, 0, 1},
		"hang":              {hang, 2, 1},
		"short column":      {shortColumn, 1, 1},
		"reward not finite": {nanReward, 3, 1},
		"NaN feature":       {nanFeature, 1, 1},
		"no action":         {noAction, 1, 1},
		"stray event":       {strayEvent, 1, 1},
		"over at reset":     {wasOver, 0, 1},
		"one slot fails":    {slotFails, 2, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				groups, stats, err := collect(t, config(nil), &script{fault: once(c.mishap, 1, c.step)}, dice{})
				require.NoError(t, err)
				require.Equal(t, clean, groups)
				require.Equal(t, c.restarts, stats.Restarts)
				require.Positive(t, stats.Retried)
				require.Zero(t, stats.Failed)
			})
		})
	}
}

// Promise: starts that always kill the environment cost their own groups, and
// every other group is whole; that it was killed may pass, what it says may not.
func TestOnlyTheCulpritIsLost(t *testing.T) {
	poison := map[uint64]bool{uint64(plan.Seed.Path(3)): true, uint64(plan.Seed.Path(4)): true}
	for name, f := range map[string]mishap{"crash": crash, "slot": slotFails} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clean, _, err := collect(t, config(nil), &script{}, dice{})
				require.NoError(t, err)
				s := &script{slots: 64, fault: func(seed uint64, step int) mishap {
					if poison[seed] && step == 1 {
						return f
					}
					return none
				}}
				groups, stats, err := collect(t, config(nil), s, dice{})
				require.NoError(t, err)
				require.Equal(t, clean[2:], groups[2:])
				require.False(t, groups[0].Complete())
				require.Equal(t, 8, stats.Failed)
				require.Equal(t, map[string]int{"crash": 8, "slot": 0}[name], stats.Passing)
				for _, tr := range append(groups[0].Trajectories, groups[1].Trajectories...) {
					require.Equal(t, rl.StopError, tr.StopReason)
					require.Regexp(t, `at step 0, action "\w+": walk: .*(walked off the map|index out of range)`, tr.Error)
				}
			})
		})
	}
}

// Promise: an environment that finishes other episodes is not given up because many starts
// kill it, also if they come one after the other at the end.
func TestManyCulpritsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{slots: 1, fault: func(seed uint64, step int) mishap {
			if step == 1 && seed != uint64(plan.Seed.Path(3)) {
				return crash
			}
			return none
		}}
		groups, stats, err := collect(t, config(func(c *Config) { c.Parallel = 1 }), s, dice{})
		require.NoError(t, err)
		require.True(t, groups[0].Complete())
		require.Equal(t, 20, stats.Failed)
	})
}

// Promise: an environment that cannot be kept alive fails the collection with
// its own words.
func TestAnEnvironmentThatOnlyCrashesIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &script{fault: func(uint64, int) mishap { return crash }}
		_, stats, err := collect(t, config(func(c *Config) { c.Parallel, c.Retries = 1, 9 }), s, dice{})
		require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Crashed))
		require.ErrorContains(t, err, "failed 4 times")
		require.ErrorContains(t, err, "walked off the map")
		require.Equal(t, 3, stats.Restarts)
		require.Equal(t, 2100*time.Millisecond, time.Since(began), "back-off 0.1, 0.4, 1.6 s")
	})
}

// Promise: an environment that cannot be opened says so at once; one that
// comes back as another is refused.
func TestOpening(t *testing.T) {
	missing := &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, What: "no such plug-in"}
	c, err := New(config(nil), func(context.Context, int) (env.Env, error) { return nil, missing }, dice{})
	require.NoError(t, err)
	_, _, err = c.Collect(t.Context(), plan, nil)
	require.ErrorIs(t, err, missing)

	synctest.Test(t, func(t *testing.T) {
		s := &script{fault: once(crash, 1, 1), spec: func(opened int, spec *env.Spec) {
			if opened > 1 {
				spec.Version = "2"
			}
		}}
		_, _, err = collect(t, config(func(c *Config) { c.Parallel = 1 }), s, dice{})
		require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Protocol))
		require.ErrorContains(t, err, "the environment's description changed from")
	})

	s := &script{spec: func(_ int, spec *env.Spec) { spec.MaxSteps = 0 }}
	_, _, err = collect(t, config(func(c *Config) { c.MaxSteps = 0 }), s, dice{})
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
}

// Promise: an environment that crashes at its first start while another worker
// has it running is started again; the result shows no trace of it.
func TestACrashAtTheStartOfTheSecond(t *testing.T) {
	clean, _, err := collect(t, config(nil), &script{}, dice{})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		s, crashed := &script{slots: 8}, false
		c, err := New(config(func(c *Config) { c.Parallel = 2 }), func(ctx context.Context, id int) (env.Env, error) {
			if id == 1 && !crashed {
				time.Sleep(time.Second) // the first is running by then
				crashed = true
				return nil, &fault.Error{Boundary: fault.Plugin, Kind: fault.Crashed, What: "killed"}
			}
			return s.Open(ctx, id)
		}, dice{})
		require.NoError(t, err)
		defer c.Close()
		groups, stats, err := c.Collect(t.Context(), plan, nil)
		require.NoError(t, err)
		require.True(t, crashed)
		require.Equal(t, 1, stats.Restarts)
		require.Equal(t, clean, groups)
	})
}

// Promise: members of a group that do not start alike are never compared.
func TestAnEnvironmentThatIgnoresTheSeedIsRefused(t *testing.T) {
	starts := 0
	s := &script{start: func() int { starts++; return starts % 2 }}
	_, _, err := collect(t, config(func(c *Config) { c.Parallel = 1 }), s, dice{})
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Protocol))
	require.ErrorContains(t, err, "began this episode differently")
}

// Promise: deadlines end a step and an episode.
func TestEpisodeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{reply: func(int, walker, string, *env.Reply) { time.Sleep(time.Second) }}
		groups, _, err := collect(t, config(func(c *Config) {
			c.Groups, c.Members, c.Retries, c.EpisodeDeadline = 1, 1, 0, 2500*time.Millisecond
		}), s, dice{change: func(_ policy.Observation, d *policy.Decision) { d.Action.Choice = 2 }})
		require.NoError(t, err)
		require.Contains(t, groups[0].Trajectories[0].Error, "longer than episode_deadline 2.5s")
		require.Len(t, groups[0].Trajectories[0].Steps, 3)
	})
}

// Promise: a policy that fails, hangs or answers nonsense stops the collection
// with an error that says where.
func TestPolicyFaults(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		act  func(ctx context.Context, d *policy.Decision) error
		want string
	}{
		"error":       {func(context.Context, *policy.Decision) error { return boom }, "boom"},
		"hang":        {func(ctx context.Context, _ *policy.Decision) error { <-ctx.Done(); return ctx.Err() }, "no decision within step_deadline 2m0s"},
		"NaN":         {func(_ context.Context, d *policy.Decision) error { d.LogProb = math.NaN(); return nil }, "t-g3-m0 step 0: the policy returned a number that is not finite"},
		"no action":   {func(_ context.Context, d *policy.Decision) error { d.Action.Choice = 3; return nil }, "the policy chose action 3 of 3"},
		"negative":    {func(_ context.Context, d *policy.Decision) error { d.Action.Choice = -1; return nil }, "the policy chose action -1 of 3"},
		"wrong value": {func(_ context.Context, d *policy.Decision) error { d.Value = math.Inf(1); return nil }, "value +Inf"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, _, err := collect(t, config(func(c *Config) { c.Parallel = 1 }), &script{}, badPolicy{c.act})
				require.ErrorContains(t, err, c.want)
			})
		})
	}
}

type badPolicy struct {
	act func(context.Context, *policy.Decision) error
}

func (badPolicy) Version() uint64 { return 0 }

func (p badPolicy) Act(ctx context.Context, _ []policy.Observation, decisions []policy.Decision) error {
	return p.act(ctx, &decisions[0])
}

// Promise: a cancelled collection returns the context's error at once and
// leaves no goroutine and no half-stepped environment.
func TestCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	stop := errors.New("Ctrl-C")
	for _, at := range []int{0, 1, 5} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &script{slots: 4, fault: func(_ uint64, step int) mishap {
			if step == at {
				cancel(stop)
				return hang
			}
			return none
		}}
		c, err := New(config(nil), s.Open, dice{})
		require.NoError(t, err)
		_, _, err = c.Collect(ctx, plan, nil)
		require.ErrorIs(t, err, stop)
		s.fault = nil
		groups, _, err := c.Collect(t.Context(), plan, nil)
		require.NoError(t, err, "the collector is still good")
		require.Len(t, groups, 6)
		require.NoError(t, c.Close())
		require.Zero(t, s.open)
		require.Greater(t, s.opened, 2)
	}
	// A goroutine that is done may still be on its way out.
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// Promise: a wrong config says everything that is wrong at once, each with its
// key.
func TestConfigProblems(t *testing.T) {
	require.Empty(t, DefaultConfig().Validate())
	cfg := Config{
		Groups: 0, Members: -1, MaxSteps: -1, Parallel: -1, Retries: -1, StepDeadline: -1, EpisodeDeadline: -1,
		StopPattern: "(", AnchorPattern: "[", Anchor: "board",
	}
	var keys []string
	for _, err := range cfg.Validate() {
		f := fault.As(err)
		require.NotEmpty(t, f.Hint)
		keys = append(keys, f.Where)
	}
	require.ElementsMatch(t, []string{
		"groups", "members", "max_steps", "parallel", "retries", "step_deadline", "episode_deadline", "stop_pattern", "anchor_pattern", "anchor", "restarts.within", "action.parse", "action.take",
		"branch.where", "branch.every", "branch.points", "branch.children", "branch.depth",
	}, keys)
	cfg = DefaultConfig()
	cfg.Anchor, cfg.AnchorPattern = AnchorMessages, "x"
	require.Len(t, cfg.Validate(), 1)
	_, err := New(Config{}, nil, nil)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
}
