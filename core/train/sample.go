package train

import (
	"errors"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/sampling"
)

// sample makes the sampler of a run, if its settings need one. A run that starts from a
// checkpoint of another begins to sample afresh: its tasks may be others.
func (l *loop) sample(spec env.Spec) error {
	cfg := l.s.Train.Sampling
	if !cfg.Set() {
		return nil
	}
	sources := spec.Sources()
	var p fault.Problems
	p.Under("train.sampling", cfg.Suits(sources))
	if p != nil {
		return errors.Join(p...)
	}
	// Iterations have the labels from 1 on.
	l.sampler = sampling.New(cfg, l.seed.Path(credit.SeedTrain, 0), sources)
	return nil
}

// choose puts the tasks of the sampler into a plan of training.
func (l *loop) choose(p *rollout.Plan) {
	if l.sampler != nil {
		p.Starts = l.sampler.Draw(p.Iteration, l.s.Rollout.Groups)
	}
}

// report tells the sampler about the groups of its last draw.
func (l *loop) report(it *iteration, s credit.Scored) {
	if l.sampler == nil {
		return
	}
	results := make([]sampling.Result, len(s.Groups))
	i := 0
	for g, group := range s.Groups {
		n := len(group.Trajectories)
		results[g] = l.result(group, s.Evaluations[i:i+n])
		i += n
	}
	l.sampler.Report(it.line.Iteration, results)
}

// result returns what a group says about its task.
func (l *loop) result(g *rl.Group, evaluations []reward.Evaluation) (r sampling.Result) {
	r.Equal = true
	var cost mean
	first := 0.0
	for i, t := range g.Trajectories {
		e := &evaluations[i]
		if e.Outcome != reward.Scored || t.BranchOf != "" {
			continue
		}
		score := e.Result.Score
		for k := range t.Steps {
			score += l.s.Align.EnvRewardWeight * t.Steps[k].EnvReward
		}
		if len(r.Solved) == 0 {
			first = score
		}
		r.Equal = r.Equal && score == first
		r.Solved = append(r.Solved, t.StopReason == rl.StopTerminated && score > l.s.Train.SuccessScore)
		cost.add(costOf(t, l.s.Train.Sampling.Cost))
	}
	r.Cost = cost.value()
	return r
}

// costOf returns what an episode cost.
func costOf(t *rl.Trajectory, cost sampling.Cost) float64 {
	switch cost {
	case sampling.Steps:
		return float64(len(t.Steps))
	case sampling.Tokens:
		n := 0
		for k := range t.Steps {
			n += len(t.Steps[k].Tokens)
		}
		return float64(n)
	}
	return 1
}

// restoreSampler puts the sampler into its state in a checkpoint of the run.
func (l *loop) restoreSampler(c *run.Checkpoint) error {
	if l.sampler == nil {
		return nil
	}
	state, _ := c.Section(samplerSection)
	if err := l.sampler.Restore(state); err != nil {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Corrupt, Where: "checkpoint", What: "the state of the sampler cannot be restored", Err: err,
			Hint: "resume with the environment and the files of tasks that the run began with, or start a new run",
		}
	}
	return nil
}
