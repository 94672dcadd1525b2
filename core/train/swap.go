package train

import (
	"bytes"
	"context"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// swap scores some replies of an iteration with the prompt and the ground truth of another task, and
// writes the mean of the scores into o. A reply that answers its task has a low score there; one that
// exploits the reward often has the same score everywhere. Nothing is learned from these scores.
func (l *loop) swap(ctx context.Context, n int, groups []*rl.Group, o *run.Outputs) error {
	if o == nil || l.s.Monitor.Swaps == 0 || !swappable(l.credit.Rewards.Parts()) {
		return nil
	}
	swapped := swaps(groups, n, l.s.Monitor.Swaps)
	if len(swapped) == 0 {
		return nil
	}
	found, err := l.credit.Rewards.EvaluateAll(ctx, swapped, nil)
	if err != nil {
		return err
	}
	for _, e := range found {
		if e.Outcome == reward.Scored {
			o.Swaps++
			o.Swapped += e.Result.Score
		}
	}
	o.Swapped /= float64(max(o.Swaps, 1))
	return nil
}

// swappable reports whether a reply can be scored by itself, and costs no request to another machine.
func swappable(parts []reward.Weighted) bool {
	group, batch := reward.Units(parts)
	return len(parts) > 0 && !group && batch == 0 && !slices.ContainsFunc(parts, func(p reward.Weighted) bool { return p.Scorer.Info().InFlight > 0 })
}

// swaps returns up to most replies, each in the next group with another ground truth: one member of
// every group, then another one, beginning with other members in each iteration n.
func swaps(groups []*rl.Group, n, most int) (all []*rl.Trajectory) {
	for k := range most {
		if len(groups) == 0 || k/len(groups) >= len(groups[0].Trajectories) {
			break
		}
		g := groups[k%len(groups)]
		members := g.Trajectories
		reply := members[(n+k/len(groups))%len(members)]
		for i := 1; i < len(groups); i++ {
			other := groups[(k+i)%len(groups)].Trajectories[0]
			if single(reply) && single(other) && !bytes.Equal(reply.GroundTruth, other.GroundTruth) {
				all = append(all, swapped(reply, other))
				break
			}
		}
	}
	return all
}

// single reports whether the trajectory is one reply to a task with a ground truth.
func single(t *rl.Trajectory) bool {
	return len(t.Steps) == 1 && t.GroundTruth != nil && t.StopReason != rl.StopError
}

// swapped is a reply as if it had been given to the task of another trajectory.
func swapped(reply, other *rl.Trajectory) *rl.Trajectory {
	t := *other
	from, at := reply.Steps[0].MessageCount, other.Steps[0].MessageCount
	t.ID = reply.ID + "-swapped"
	t.Messages = slices.Concat(other.Messages[:at], reply.Messages[from:])
	t.Steps = slices.Clone(reply.Steps)
	t.Steps[0].MessageCount, t.Steps[0].Credit = at, nil
	t.StopReason, t.Metrics, t.Bootstrap = reply.StopReason, reply.Metrics, nil
	t.Outcome, t.Evaluation, t.Notes = "", nil, nil
	return &t
}
