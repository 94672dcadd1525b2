package train_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// groupOf returns group number g of episodes that end with update 10. A step that is so
// many steps before the end of its episode was decided so many updates earlier.
func groupOf(g int, lengths []int, scores []float64) credit.Scored {
	group := &rl.Group{ID: fmt.Sprint("g", g)}
	s := credit.Scored{Groups: []*rl.Group{group}}
	for m, n := range lengths {
		t := &rl.Trajectory{ID: fmt.Sprint("g", g, "-m", m), Group: group.ID, StopReason: rl.StopTerminated}
		for k := range n {
			t.Messages = append(t.Messages, rl.Message{Role: rl.RoleUser}, rl.Message{Role: rl.RoleAssistant})
			t.Steps = append(t.Steps, rl.Step{Index: k, MessageCount: 2*k + 1, ActionValid: true, PolicyVersion: uint64(10 - (n - 1 - k))})
		}
		group.Trajectories = append(group.Trajectories, t)
		s.Evaluations = append(s.Evaluations, reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: scores[m], IsScoreValid: true}})
	}
	return s
}

// joined joins what was scored.
func joined(all ...credit.Scored) (s credit.Scored) {
	for _, x := range all {
		s.Groups, s.Evaluations = append(s.Groups, x.Groups...), append(s.Evaluations, x.Evaluations...)
	}
	return s
}

// Promise: a group goes whole if one step is too old, and what goes is described by
// length and by score, relative to all that was played.
func TestStaleGroups(t *testing.T) {
	all := joined(
		groupOf(0, []int{1, 2}, []float64{1, 0}),
		groupOf(1, []int{2, 9}, []float64{1, 0}),
		groupOf(2, []int{3, 3}, []float64{1, 1}),
		groupOf(3, []int{0, 4}, []float64{0, 0}), // a lost episode has no step
	)
	all.Evaluations[6].Outcome = reward.Infrastructure
	for most, c := range map[int]struct {
		kept string
		r    run.Rollout
	}{
		8: {"g0 g1 g2 g3", run.Rollout{}},
		3: {"g0 g2 g3", run.Rollout{Stale: 11, StaleGroups: 1, StaleEpisodes: 2, StaleLength: 5.5, StaleScore: 0.5, StaleShort: 1. / 6, StaleLong: 1. / 2, StaleLow: 1. / 3, StaleHigh: 1. / 4}},
		1: {"g0", run.Rollout{Stale: 21, StaleGroups: 3, StaleEpisodes: 6, StaleLength: 3.5, StaleScore: 0.6, StaleShort: 4. / 6, StaleLong: 1, StaleLow: 2. / 3, StaleHigh: 3. / 4}},
		0: {"", run.Rollout{Stale: 24, StaleGroups: 4, StaleEpisodes: 8, StaleLength: 3, StaleScore: 4. / 7, StaleShort: 1, StaleLong: 1, StaleLow: 1, StaleHigh: 1}},
	} {
		fresh, r := train.DropStale(all, 10, most)
		var kept []string
		for _, g := range fresh.Groups {
			kept = append(kept, g.ID)
		}
		require.Equal(t, c.kept, strings.Join(kept, " "), "max_staleness %d", most)
		require.Len(t, fresh.Evaluations, 2*len(kept))
		require.Equal(t, c.r, r, "max_staleness %d", most)
	}
}

// push returns the sum of weighted advantages of the episodes of s, by their length: how
// much an update makes the actions of episodes of that length more likely. Old is the
// rule that this test protects against: estimate over everything, then ignore old steps.
func push(t *testing.T, s credit.Scored, version uint64, most int, old bool) map[int]float64 {
	cfg := advantage.Default()
	cfg.Estimator = "grpo"
	if !old {
		s, _ = train.DropStale(s, version, most)
	}
	p := credit.Pipeline{Rewards: reward.NewPool(nil, 1), Align: align.DefaultConfig(), Advantage: &cfg}
	b, err := p.Assign(s)
	require.NoError(t, err)
	by := map[int]float64{}
	for i, x := range b.Trajectories {
		for row := b.First[i]; row < b.First[i+1]; row++ {
			if !old || b.Steps[row].PolicyVersion+uint64(most) >= version {
				by[len(x.Steps)] += b.Credit.Weight[row] * b.Credit.Advantage[row] / float64(len(x.Steps))
			}
		}
	}
	return by
}

// Promise: dropping favors no length. Every way in which four episodes can be short and
// solved or long and failed is played once, so that no action is better than another: the
// length is luck. Ignoring old steps keeps the short, solved ones and loses most of what
// balances them; dropping groups keeps the sum at 0.
func TestStaleFavorsNoLength(t *testing.T) {
	const short, long = 2, 6
	var all []credit.Scored
	for ways := range 16 {
		lengths, scores := make([]int, 4), make([]float64, 4)
		for m := range 4 {
			lengths[m], scores[m] = long, 0
			if ways>>m&1 == 1 {
				lengths[m], scores[m] = short, 1
			}
		}
		all = append(all, groupOf(ways, lengths, scores))
	}
	whole := push(t, joined(all...), 10, long, false)
	require.InDelta(t, 0, whole[short]+whole[long], 1e-9, "with everything, what short ones gain long ones lose")
	require.Greater(t, whole[short], 5.0)

	before := push(t, joined(all...), 10, 1, true)
	require.InDelta(t, whole[short], before[short], 1e-9, "all of the push toward short episodes remained")
	require.InDelta(t, whole[long]/3, before[long], 1e-9, "and a third of that against long ones")
	require.Greater(t, before[short]+before[long], 5.0)

	after := push(t, joined(all...), 10, 1, false)
	require.InDelta(t, 0, after[short]+after[long], 1e-9)
	for _, group := range all { // nor is any group that stays one-sided
		g := push(t, group, 10, 1, false)
		require.InDelta(t, 0, g[short]+g[long], 1e-9)
	}
}

// aged is a policy in which weights of some updates ago decide where old says so.
type aged struct {
	policy.Learner
	lag uint64
	old func(o *policy.Observation) bool
}

func (a aged) Act(ctx context.Context, o []policy.Observation, d []policy.Decision) error {
	err := a.Learner.Act(ctx, o, d)
	for i := range d {
		if a.old(&o[i]) {
			d[i].Lag = min(a.lag, a.Version())
		}
	}
	return err
}

// aging returns deps with an aged policy.
func aging(lag uint64, old func(o *policy.Observation) bool) train.Deps {
	d := deps()
	d.OpenPolicy = func(ctx context.Context, spec env.Spec, updates int) (policy.Learner, error) {
		l, err := network(nil)(ctx, spec, updates)
		return aged{l, lag, old}, err
	}
	return d
}

// Promise: nothing is learned from groups of weights that are too old, and an iteration
// whose groups are all too old is recorded like any other.
func TestStaleIterations(t *testing.T) {
	testneeds.NotShort(t)
	for most, stale := range map[int]bool{1: true, 2: false} {
		s := settings()
		s.Train.MaxStaleness, s.Train.Iterations = most, 4
		path := t.TempDir()
		_, err := trainIn(t.Context(), t, path, s, aging(2, func(*policy.Observation) bool { return true }), false)
		require.NoError(t, err)
		metrics, err := run.ReadMetrics(path)
		require.NoError(t, err)
		r := metrics[4].Rollout
		require.Equal(t, stale, r.StaleEpisodes == 24 && r.Discarded == 24 && r.Episodes == 0)
		require.Equal(t, stale, metrics[4].Update.Minibatches == 0)
	}
}

// Promise: a run that drops some of its groups, and plays others instead, resumes to the
// same bytes.
func TestStaleRunsResume(t *testing.T) {
	testneeds.NotShort(t)
	s := settings()
	s.Train.MaxStaleness, s.Train.Resample = 1, 1
	left := func(o *policy.Observation) bool { return strings.HasPrefix(o.Text, "@") }
	whole, path := t.TempDir(), t.TempDir()
	_, err := trainIn(t.Context(), t, whole, s, aging(3, left), false)
	require.NoError(t, err)
	metrics, err := run.ReadMetrics(whole)
	require.NoError(t, err)
	dropped := 0
	for _, it := range metrics[1:] {
		dropped += it.Rollout.StaleGroups
	}
	require.Positive(t, dropped)
	for _, after := range []int{70, 160, 290} {
		ctx, cancel := context.WithCancel(t.Context())
		d := aging(3, left)
		d.Progress = &countdown{after, cancel}
		_, err := trainIn(ctx, t, path, s, d, true)
		require.Error(t, err)
		cancel()
	}
	_, err = trainIn(t.Context(), t, path, s, aging(3, left), true)
	require.NoError(t, err)
	requireSame(t, bytesOf(t, whole), bytesOf(t, path))
}
