package train

import (
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train/stats"
)

// episode is what counts of a trajectory.
type episode struct {
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
		e := episode{length: to - from}
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

// score summarises the scored episodes.
func score(all []episode, starts int) run.Score {
	var sums, lengths []float64
	successes := 0
	for _, e := range all {
		if !e.scored {
			continue
		}
		sums, lengths = append(sums, e.sum), append(lengths, float64(e.length))
		if e.success {
			successes++
		}
	}
	s := run.Score{Episodes: len(sums), Unscored: len(all) - len(sums), DistinctStarts: starts}
	if s.Episodes > 0 {
		s.Success = float64(successes) / float64(s.Episodes)
	}
	s.SuccessInterval[0], s.SuccessInterval[1] = stats.Wilson(successes, s.Episodes)
	s.Return, s.ReturnInterval[0], s.ReturnInterval[1] = stats.Mean(sums)
	s.Length, s.LengthInterval[0], s.LengthInterval[1] = stats.Mean(lengths)
	return s
}

// distinctStarts counts the different first states.
func distinctStarts(trajectories []*rl.Trajectory) int {
	seen := map[string]bool{}
	for _, t := range trajectories {
		if len(t.Steps) > 0 {
			seen[t.Steps[0].Anchor] = true
		}
	}
	return len(seen)
}
