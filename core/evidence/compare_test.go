package evidence_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// played is an evaluation of n starts, each played as often as copies; the
// policy succeeds in the given ones.
func played(n, copies int, prefix string, success func(i int) bool) *run.Evaluation {
	e := &run.Evaluation{Split: "test", Environment: run.Plugin{Name: "game"}}
	for i := range n {
		for range copies {
			p := run.Played{Start: fmt.Sprint(prefix, i), Scored: true, Success: success(i), Length: 10 + i%3, Metrics: map[string]float64{"cost": float64(20 + i%5)}}
			if p.Success {
				p.Return, p.Metrics["cost"] = 1, p.Metrics["cost"]-4
			}
			e.Episodes = append(e.Episodes, p)
		}
	}
	return e
}

func upTo(k int) func(int) bool { return func(i int) bool { return i < k } }

// Promise: episodes of one start, however many and however good, do not show that
// a policy is better; those of several do.
func TestOneStartShowsNothing(t *testing.T) {
	for _, c := range []struct {
		n, copies int
		decision  evidence.Decision
	}{{1, 1, evidence.Iterate}, {1, 8, evidence.Iterate}, {8, 1, evidence.Promote}} {
		got, err := evidence.Compare(played(c.n, c.copies, "s", upTo(0)), played(c.n, c.copies, "s", upTo(c.n)), evidence.Default())
		require.NoError(t, err)
		require.Equal(t, c.decision, got.Verdict.Decision, c)
	}
}

// Promise: where episodes are clustered by task, starts of one task show no more
// than one of them does, in intervals and tests.
func TestOneTaskShowsNothing(t *testing.T) {
	of := func(tasks, k int) *run.Evaluation {
		e := played(24, 1, "s", upTo(k))
		for i := range e.Episodes {
			e.Episodes[i].Cluster = fmt.Sprint("task ", i%tasks)
		}
		return e
	}
	one, err := evidence.Compare(of(1, 0), of(1, 24), evidence.Default())
	require.NoError(t, err)
	require.Equal(t, evidence.Iterate, one.Verdict.Decision)
	eight, err := evidence.Compare(of(8, 0), of(8, 24), evidence.Default())
	require.NoError(t, err)
	success, _ := eight.Metric(evidence.Success)
	require.Equal(t, "exact sign-flip of the differences of tasks, two-sided", success.Test)
	require.InDelta(t, 2.0/256, success.PValue, 1e-12, "eight tasks, all on one side")
	rows := evidence.ByTask(of(8, 0), of(8, 24), "cost")
	require.Len(t, rows, 8)
	require.Equal(t, 3, rows[0].Episodes) // starts 0, 8 and 16, which cost 20, 23 and 21
	require.InDelta(t, 64.0/3, rows[0].Before, 1e-12)
	require.InDelta(t, 64.0/3-4, rows[0].After, 1e-12)
	require.Empty(t, evidence.ByTask(of(8, 0), of(8, 24), "cots"))
	require.Empty(t, evidence.ByTask(played(8, 1, "s", upTo(0)), played(8, 1, "s", upTo(8)), "cost"), "starts are not tasks")
	cost, _ := eight.Metric("cost")
	require.Contains(t, cost.Test, "tasks' mean differences")
	require.InDelta(t, 2.0/256, cost.PValue, 1e-12)
}

// Promise: a verdict follows the thresholds: enough and no chance promotes; too
// little, or maybe chance, iterates; the rest falls back; each with one sentence.
func TestVerdict(t *testing.T) {
	testneeds.NotShort(t)
	plain := evidence.Default()
	cost := plain
	cost.Metric, cost.Lower = "cost", true
	strict := plain
	strict.Promote = 0.5
	for _, c := range []struct {
		name          string
		before, after int // of 200
		config        evidence.Config
		decision      evidence.Decision
		sentence      string
	}{
		{"enough", 100, 140, plain, evidence.Promote, "promote: success is 40 % better (50 % → 70 %, +20.0 points [+15.0, +26.0], p = 1.8e-12), which meets the required 15 % and p < 0.05"},
		{"too little", 150, 165, plain, evidence.Iterate, "iterate: success is 10 % better (75 % → 82.5 %, +7.5 points [+4.5, +12.0], p = 6.1e-05), which is more than chance, but promotion requires 15 % and p < 0.05"},
		{"no room", 180, 200, plain, evidence.Iterate, "from 90 % success cannot rise by 15 %: set evidence.promote or evidence.metric"},
		{"asked for more", 100, 140, strict, evidence.Iterate, "but promotion requires 50 % and p < 0.05"},
		{"maybe chance", 20, 24, plain, evidence.Iterate, "may be chance"},
		{"hardly", 150, 151, plain, evidence.FallBack, "less than the 5 % that justifies more work"},
		{"the same", 150, 150, plain, evidence.FallBack, "fall back: return is the same"},
		{"worse", 140, 100, plain, evidence.FallBack, "success is 28.6 % worse (70 % → 50 %, -20.0 points"},
		{"maybe worse", 150, 145, plain, evidence.FallBack, "fall back: return differs by no more than chance (0.75 → 0.725, -0.025 ["},
		{"from nothing", 0, 40, plain, evidence.Promote, "success is better than zero (0 % → 20 %"},
		{"cheaper", 0, 200, cost, evidence.Promote, "promote: cost is 18.2 % better (22 → 18, -4 [-4, -4]"},
		{"dearer", 200, 0, cost, evidence.FallBack, "cost is 22.2 % worse"},
	} {
		got, err := evidence.Compare(played(200, 1, "s", upTo(c.before)), played(200, 1, "s", upTo(c.after)), c.config)
		require.NoError(t, err)
		require.Equal(t, c.decision, got.Verdict.Decision, c.name)
		require.Contains(t, got.Verdict.Sentence, c.sentence, c.name)
		_, err = json.Marshal(got)
		require.NoError(t, err, c.name)
	}
}

// Promise: each metric has its means, difference, interval, effect and a test
// that fits: McNemar and signed ranks in pairs, sums over starts where starts are
// played more than once, Welch or rank sums where the starts are others.
func TestTests(t *testing.T) {
	success, cost := evidence.Success, "cost"
	for _, c := range []struct {
		name     string
		n, of    int
		after    string
		paired   bool
		success  string
		cost     string
		episodes int
	}{
		{"pairs", 60, 1, "s", true, "exact McNemar", "Wilcoxon signed ranks", 60},
		{"copies", 60, 3, "s", true, "exact sign-flip", "Wilcoxon signed ranks", 180},
		{"other starts", 60, 1, "t", false, "Welch", "Welch", 60},
		{"few other starts", 12, 2, "t", false, "Wilcoxon rank sums", "Wilcoxon rank sums", 24},
	} {
		got, err := evidence.Compare(played(c.n, c.of, "s", upTo(c.n/4)), played(c.n, c.of, c.after, upTo(c.n)), evidence.Default())
		require.NoError(t, err, c.name)
		require.Equal(t, c.paired, got.Paired, c.name)
		require.Equal(t, [2]int{c.episodes, c.episodes}, [2]int{got.Before, got.After}, c.name)
		s, _ := got.Metric(success)
		require.Contains(t, s.Test, c.success, c.name)
		require.InDelta(t, 0.75, s.Difference, 1e-12)
		require.InDelta(t, 3, *s.Relative, 1e-12)
		require.InDelta(t, 2.0943951, *s.Effect, 1e-6, "h of 0.25 and 1")
		require.Less(t, s.PValue, 0.01, c.name)
		require.Less(t, s.Interval[0], 0.75)
		d, ok := got.Metric(cost)
		require.True(t, ok)
		require.Contains(t, d.Test, c.cost, c.name)
		require.InDelta(t, -3, d.Difference, 1e-12, c.name)
		require.Less(t, d.Interval[1], 0.0, c.name)
	}
}

// Promise: evaluations that cannot be compared are rejected, and episodes
// without a score count for neither.
func TestNotComparable(t *testing.T) {
	a, b := played(10, 1, "s", upTo(5)), played(10, 1, "s", upTo(5))
	b.Environment.Version = "2"
	_, err := evidence.Compare(a, b, evidence.Default())
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
	require.ErrorContains(t, err, "differ in the environment")
	b.Environment, b.Split = a.Environment, "train"
	_, err = evidence.Compare(a, b, evidence.Default())
	require.ErrorContains(t, err, "differ in the split")
	b.Split = a.Split
	require.NoError(t, evidence.Unpaired(a, b))
	b.Episodes[3].Scored, a.Episodes[4].Scored = false, false
	got, err := evidence.Compare(a, b, evidence.Default())
	require.NoError(t, err)
	require.Equal(t, 8, got.Before)
	for i := range b.Episodes {
		b.Episodes[i].Scored = false
	}
	_, err = evidence.Compare(a, b, evidence.Default())
	require.ErrorContains(t, err, "no episode has a score in both")
	b.Episodes[0].Scored = true
	c := evidence.Default()
	c.Metric = "csot"
	_, err = evidence.Compare(a, b, c)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Missing))
	require.ErrorContains(t, err, "csot")
	require.ErrorContains(t, evidence.Unpaired(a, played(9, 1, "s", upTo(0))), "the number of episodes")
}

// Promise: thresholds that contradict each other are refused with their keys.
func TestConfig(t *testing.T) {
	require.Empty(t, evidence.Default().Validate())
	problems := evidence.Config{Lower: true, Promote: 0.1, Iterate: 0.2, Significance: 1}.Validate()
	var keys []string
	for _, p := range problems {
		keys = append(keys, fault.As(p).Where)
	}
	require.ElementsMatch(t, []string{"metric", "iterate", "significance"}, keys)
	require.Len(t, evidence.Config{Metric: evidence.Auto, Lower: true, Significance: 0.05}.Validate(), 1)
	not := evidence.Default()
	not.Promote = math.NaN()
	require.Len(t, not.Validate(), 1)
}

// Promise: a policy is not promoted for episodes that failed to be scored: above
// max_unscored the verdict says that nothing is known of them.
func TestEpisodesWithoutAScore(t *testing.T) {
	before, after := played(200, 1, "s", upTo(50)), played(200, 1, "s", upTo(100))
	got, err := evidence.Compare(before, after, evidence.Default())
	require.NoError(t, err)
	require.Equal(t, evidence.Promote, got.Verdict.Decision)
	for i := range 10 { // where it failed
		after.Episodes[190+i].Scored = false
	}
	got, err = evidence.Compare(before, after, evidence.Default())
	require.NoError(t, err)
	require.InDelta(t, 0.05, got.Unscored, 1e-12)
	require.Equal(t, evidence.Iterate, got.Verdict.Decision)
	require.Contains(t, got.Verdict.Sentence, "5 % of the episodes have no score, so their result is unknown")
}

// Promise: pass@k and pass^k are compared task by task, whatever the number of attempts, and
// each task counts once. A task whose attempts lack a score in one of both is left out.
func TestAttempts(t *testing.T) {
	of := func(tries int, success func(task, try int) bool) *run.Evaluation {
		e := played(12, tries, "s", upTo(0))
		for i := range e.Episodes {
			e.Episodes[i].Success = success(i/tries, i%tries)
		}
		require.NoError(t, e.PassAt([]int{1, 4}, "more"))
		return e
	}
	before, after := of(4, func(_, try int) bool { return try == 0 }), of(8, func(task, try int) bool { return try < 4 || task < 6 })
	compare := func() (one, any4, all4 evidence.Difference) {
		c, err := evidence.Compare(before, after, evidence.Default())
		require.NoError(t, err)
		one, _ = c.Metric("pass@1")
		any4, _ = c.Metric("pass@4")
		all4, _ = c.Metric("pass^4")
		return one, any4, all4
	}
	one, any4, all4 := compare()
	require.InDelta(t, 0.25, one.Before, 1e-12)
	require.InDelta(t, 0.75, one.After, 1e-12) // six tasks of 4 in 8, six of 8 in 8
	require.Contains(t, one.Test, "signed ranks, paired by start")
	require.InDelta(t, 2.0/4096, one.PValue, 1e-12, "twelve tasks, all on one side")
	require.Equal(t, 1.0, any4.Before)
	require.InDelta(t, 1-0.5/70, any4.After, 1e-12) // C(4, 4) / C(8, 4) is 1/70, for half of the tasks
	require.Zero(t, all4.Before)
	require.InDelta(t, 0.5+0.5/70, all4.After, 1e-12)
	require.Less(t, all4.Interval[0], all4.Difference)
	for i := range 4 {
		before.Episodes[i].Scored = false
	}
	one, _, _ = compare()
	require.InDelta(t, (5+6*0.5)/11, one.After, 1e-12)
	require.InDelta(t, 2.0/2048, one.PValue, 1e-12)
	lacking := before.PassAt([]int{5}, "play more")
	require.ErrorContains(t, lacking, "pass@5 needs 5 attempts at every task, but there are 4 at start s0")
	require.Equal(t, "play more", fault.As(lacking).Hint)
}
