package train

import (
	"cmp"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train/stats"
)

// episode is what counts of a trajectory.
type episode struct {
	start   string // see startOf
	scored  bool
	success bool
	sum     float64 // of base rewards
	length  int
}

// episodes returns one episode for each trajectory of a batch. A success is an
// episode that the environment terminated with a score above threshold.
func episodes(b *credit.Batch, threshold float64) []episode {
	out := make([]episode, len(b.Trajectories))
	for i, t := range b.Trajectories {
		from, to := b.First[i], b.First[i+1]
		e := episode{start: startOf(t), length: to - from}
		if from < to && b.Rows.Scored[from] {
			e.scored = true
			e.success = t.StopReason == rl.StopTerminated && b.Rows.Score[from] > threshold
			for _, r := range b.Rows.Reward[from:to] {
				e.sum += r
			}
		}
		out[i] = e
	}
	return out
}

// score summarises the scored episodes. Those from one start are not
// independent, and the intervals allow for it.
func score(all []episode) run.Score {
	var sums, lengths []float64
	var successes []bool
	var keys []string
	for _, e := range all {
		if e.scored {
			sums, lengths = append(sums, e.sum), append(lengths, float64(e.length))
			successes, keys = append(successes, e.success), append(keys, e.start)
		}
	}
	s := run.Score{Episodes: len(sums), Unscored: len(all) - len(sums), DistinctStarts: len(distinct(all))}
	c := stats.ClusterBy(keys)
	s.Success, s.SuccessInterval[0], s.SuccessInterval[1] = c.Share(successes)
	s.Return, s.ReturnInterval[0], s.ReturnInterval[1] = c.Mean(sums)
	s.Length, s.LengthInterval[0], s.LengthInterval[1] = c.Mean(lengths)
	return s
}

// compare tests whether two policies that played the same starts, in the same
// order, succeed equally often. It returns the name of the test too.
func compare(before, after []episode) (test string, p float64) {
	var a, b []bool
	var keys []string
	for i := range before {
		if before[i].scored && after[i].scored {
			a, b = append(a, before[i].success), append(b, after[i].success)
			keys = append(keys, after[i].start)
		}
	}
	test = "exact McNemar, paired by start, two-sided"
	if len(distinct(after)) < len(after) {
		test = "exact sign-flip of the differences of starts, two-sided"
	}
	return test, stats.ClusterBy(keys).Paired(a, b)
}

// selectEpisodes returns the episodes of an iteration that c keeps, in order.
// Before is the number of episodes of earlier iterations.
func selectEpisodes(c run.SaveConfig, before uint64, all []*rl.Trajectory) []*rl.Trajectory {
	keep := make([]bool, len(all))
	var scored []int
	for i, t := range all {
		failed := t.Outcome != string(reward.Scored)
		keep[i] = c.Every > 0 && (before+uint64(i))%uint64(c.Every) == 0 || c.Failed && failed
		if !failed && t.Evaluation != nil {
			scored = append(scored, i)
		}
	}
	slices.SortStableFunc(scored, func(a, b int) int {
		return cmp.Compare(all[b].Evaluation.Score, all[a].Evaluation.Score)
	})
	for _, i := range scored[:min(c.Best, len(scored))] {
		keep[i] = true
	}
	for _, i := range scored[max(0, len(scored)-c.Worst):] {
		keep[i] = true
	}
	var out []*rl.Trajectory
	for i, t := range all {
		if keep[i] {
			out = append(out, t)
		}
	}
	return out
}
