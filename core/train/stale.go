package train

import (
	"context"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// dropStale returns the groups of s without those in which weights more than most
// updates older than version decided a step. It notes every episode in seen.
//
// It drops whole groups, before an estimator sees them. The older a decision, the longer
// its episode has run, so dropping steps or episodes would keep the short members of a
// group only: their advantages no longer sum to 0, and every action of the short ones
// becomes more likely if these score better.
func dropStale(s credit.Scored, version uint64, most int, seen *staleness) (fresh credit.Scored) {
	i := 0
	for _, g := range s.Groups {
		own := s.Evaluations[i : i+len(g.Trajectories)]
		i += len(own)
		old := stale(g, version, most)
		seen.add(g, own, old)
		if !old {
			fresh.Groups = append(fresh.Groups, g)
			fresh.Evaluations = append(fresh.Evaluations, own...)
		}
	}
	return fresh
}

// stale reports whether weights more than most updates older than version decided a step
// of g.
func stale(g *rl.Group, version uint64, most int) bool {
	for _, t := range g.Trajectories {
		for k := range t.Steps {
			if t.Steps[k].PolicyVersion+uint64(most) < version {
				return true
			}
		}
	}
	return false
}

// staleness describes which episodes of an iteration were dropped.
type staleness struct {
	groups, steps   int // dropped
	lengths, scores []judged
}

// judged is a property of an episode, and whether the episode was dropped.
type judged struct {
	x       float64
	dropped bool
}

func (s *staleness) add(g *rl.Group, evaluations []reward.Evaluation, dropped bool) {
	if dropped {
		s.groups++
	}
	for i, t := range g.Trajectories {
		if dropped {
			s.steps += len(t.Steps)
		}
		s.lengths = append(s.lengths, judged{float64(len(t.Steps)), dropped})
		if e := &evaluations[i]; e.Outcome == reward.Scored {
			s.scores = append(s.scores, judged{e.Result.Score, dropped})
		}
	}
}

// describe writes what was dropped into r, by length and by score.
func (s *staleness) describe(r *run.Rollout) {
	if s.groups == 0 {
		return
	}
	r.Stale, r.StaleGroups = s.steps, s.groups
	r.StaleEpisodes, r.StaleLength, r.StaleShort, r.StaleLong = split(s.lengths)
	_, r.StaleScore, r.StaleLow, r.StaleHigh = split(s.scores)
}

// split returns the number and mean of the dropped ones of all, and the shares that were
// dropped of those up to the mean of all and of those above.
func split(all []judged) (n int, average, upTo, above float64) {
	var whole, dropped, low, high mean
	for _, j := range all {
		whole.add(j.x)
		if j.dropped {
			dropped.add(j.x)
		}
	}
	for _, j := range all {
		side, x := &low, 0.0
		if j.x*whole.n > whole.sum {
			side = &high
		}
		if j.dropped {
			x = 1
		}
		side.add(x)
	}
	return int(dropped.n), dropped.value(), low.value(), high.value()
}

// logStale logs what was dropped from an iteration, if anything.
func (l *loop) logStale(ctx context.Context, it *iteration) {
	r := it.line.Rollout
	if r.StaleGroups == 0 {
		return
	}
	l.deps.Log.WarnContext(ctx, "groups were dropped: the weights of a step were too old", "iteration", it.line.Iteration,
		"groups", r.StaleGroups, "episodes", r.StaleEpisodes, "length", r.StaleLength, "kept_length", r.Length, "score", r.StaleScore,
		"dropped_short", r.StaleShort, "dropped_long", r.StaleLong, "dropped_low", r.StaleLow, "dropped_high", r.StaleHigh,
		"hint", "raise train.max_staleness if most of the groups are dropped")
}
