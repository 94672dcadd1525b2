package align

import (
	"fmt"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Batch is the steps of several groups as rows, group-major: the trajectories
// of the first group with their steps in order, then those of the next. The
// zero value is ready; Fill reuses its buffers, so what is kept from one batch
// to the next must be copied. Only the steps and trajectories live on.
type Batch struct {
	Rows  advantage.Rows
	Steps []*rl.Step // [rows]

	Trajectories []*rl.Trajectory    // [trajectories]
	Evaluations  []reward.Evaluation // [trajectories], after the check against the steps
	First        []int               // [trajectories+1]: the rows of trajectory i are First[i] … First[i+1]−1

	locator           locator
	critic            bool      // every step has a value so far
	values, bootstrap []float64 // become columns of Rows if every step has a value
	roles             []string  // becomes a column of Rows if some step has a role
	greedy            []float64 // becomes a column of Rows if there are greedy episodes
}

// Join returns a new Batch with groups and evaluations, which are in
// group-major order, one for each trajectory. See Batch.Fill.
func Join(cfg Config, groups []*rl.Group, evaluations []reward.Evaluation, rule reward.StepIndexing) (*Batch, error) {
	b := new(Batch)
	return b, b.Fill(cfg, groups, evaluations, rule)
}

// Fill makes b the batch of groups and evaluations and sets Outcome,
// Evaluation and Notes of each trajectory.
//
// Step outputs are matched by rule, exactly. A step without one has the
// default reward. If an evaluation has no step outputs at all, the episode
// score is added to the last step. What cannot be matched, an output or the episode
// that a branch left, makes its trajectory Unaligned, and so unscored; where more trajectories than Config.MaxUnscored
// have no score, Fill returns the error of reward.CheckUnscored, with b
// complete for inspection.
func (b *Batch) Fill(cfg Config, groups []*rl.Group, evaluations []reward.Evaluation, rule reward.StepIndexing) error {
	b.reset()
	for _, g := range groups {
		b.Trajectories = append(b.Trajectories, g.Trajectories...)
	}
	if len(evaluations) != len(b.Trajectories) {
		return &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Internal, Where: "align",
			What: fmt.Sprintf("%d evaluations for %d trajectories", len(evaluations), len(b.Trajectories)),
			Hint: "this is a bug of Merit; please report it",
		}
	}
	b.Evaluations = append(b.Evaluations, evaluations...)
	i := 0
	for g := range groups {
		for _, t := range groups[g].Trajectories {
			b.add(cfg, g, i, t, rule)
			i++
		}
	}
	if b.critic {
		b.Rows.Value, b.Rows.Bootstrap = b.values, b.bootstrap
	}
	if slices.ContainsFunc(b.roles, func(r string) bool { return r != "" }) {
		b.Rows.Role = b.roles
	}
	if slices.ContainsFunc(b.Trajectories, func(t *rl.Trajectory) bool { return t.GreedyScore != nil || t.GreedyOutcome != "" }) {
		b.Rows.Greedy = b.greedy
	}
	b.branch(groups)
	b.separate(cfg)
	return reward.CheckUnscored(b.Evaluations, func(i int) string { return b.Trajectories[i].ID }, cfg.MaxUnscored)
}

// Counts is how many trajectories had which outcome.
func (b *Batch) Counts() []reward.Count { return reward.Tally(b.Evaluations) }

// Write fills Step.Credit from what an estimator made of b.Rows. Steps of
// trajectories without a score have no credit: theirs is nil.
func (b *Batch) Write(r *advantage.Result) {
	credits := make([]rl.Credit, len(b.Steps))
	for i, s := range b.Steps {
		if !b.Rows.Scored[i] {
			s.Credit = nil
			continue
		}
		credits[i] = rl.Credit{
			BaseReward:       b.Rows.Reward[i],
			Return:           r.Return[i],
			EpisodeAdvantage: r.Episode[i],
			StepAdvantage:    r.Step[i],
			Advantage:        r.Advantage[i],
			AnchorGroup:      int(r.AnchorGroup[i]),
		}
		if b.Rows.KeptSteps != nil {
			credits[i].KeptSteps = int(b.Rows.KeptSteps[i])
			if to := b.Rows.KeptTo[i]; credits[i].KeptSteps > 0 && to >= 0 {
				group := int(r.AnchorGroup[to])
				credits[i].KeptTo = &group
			}
		}
		s.Credit = &credits[i]
	}
}

func (b *Batch) reset() {
	r := &b.Rows
	*r = advantage.Rows{
		Group: r.Group[:0], Trajectory: r.Trajectory[:0], Step: r.Step[:0], Reward: r.Reward[:0], Score: r.Score[:0],
		Anchor: r.Anchor[:0], Scored: r.Scored[:0], Valid: r.Valid[:0],
		Terminated: r.Terminated[:0], Truncated: r.Truncated[:0],
	}
	b.Steps, b.Trajectories, b.Evaluations = b.Steps[:0], b.Trajectories[:0], b.Evaluations[:0]
	b.First = append(b.First[:0], 0)
	b.critic, b.values, b.bootstrap = true, b.values[:0], b.bootstrap[:0]
	b.roles, b.greedy = b.roles[:0], b.greedy[:0]
}

// add appends the rows of trajectory i, which belongs to group g.
func (b *Batch) add(cfg Config, g, i int, t *rl.Trajectory, rule reward.StepIndexing) {
	from := len(b.Steps)
	for k := range t.Steps {
		b.addStep(g, i, &t.Steps[k], k)
		b.roles = append(b.roles, t.Role(k))
		if t.GreedyScore != nil {
			b.greedy = append(b.greedy, *t.GreedyScore)
		} else {
			b.greedy = append(b.greedy, math.NaN())
		}
	}
	if n := len(t.Steps); n > 0 && t.Bootstrap != nil {
		b.bootstrap[from+n-1] = *t.Bootstrap
	}
	b.First = append(b.First, len(b.Steps))
	e := &b.Evaluations[i]
	if e.Outcome == reward.Scored {
		if problem := b.fillRewards(cfg, from, t, e.Result, rule); problem != "" {
			*e = unaligned(*e, t, problem)
		} else if name := unjudged(e.Result.Metrics); name != "" {
			e.Outcome, e.Reason, e.Result.IsScoreValid = reward.Invalid, fmt.Sprintf("reward %q has no score", name), false
		}
	}
	scored := e.Outcome == reward.Scored
	for row := from; row < len(b.Steps); row++ {
		b.Rows.Scored[row] = scored
		if !scored {
			b.Rows.Reward[row], b.Rows.Score[row] = 0, 0
		}
	}
	t.Outcome, t.Evaluation, t.Notes = string(e.Outcome), nil, e.Notes
	if scored || e.Outcome == reward.Invalid {
		result := e.Result
		t.Evaluation = &result
	}
}

func (b *Batch) addStep(g, i int, s *rl.Step, k int) {
	b.Steps = append(b.Steps, s)
	r := &b.Rows
	r.Group = append(r.Group, int32(g))
	r.Trajectory = append(r.Trajectory, int32(i))
	r.Step = append(r.Step, int32(k))
	r.Reward = append(r.Reward, 0)
	r.Score = append(r.Score, 0)
	r.Scored = append(r.Scored, false)
	r.Anchor = append(r.Anchor, s.Anchor)
	r.Valid = append(r.Valid, s.ActionValid)
	r.Terminated = append(r.Terminated, s.Terminated)
	r.Truncated = append(r.Truncated, s.Truncated)
	value := 0.0
	if s.Value != nil {
		value = *s.Value
	}
	b.critic = b.critic && s.Value != nil
	b.values = append(b.values, value)
	b.bootstrap = append(b.bootstrap, 0)
}

// fillRewards writes base rewards and the episode score of t, whose rows begin
// at from, and returns what is wrong with its step outputs, if anything.
func (b *Batch) fillRewards(cfg Config, from int, t *rl.Trajectory, result rl.EvaluateResult, rule reward.StepIndexing) (problem string) {
	n := len(t.Steps)
	if problem = b.locator.load(t); problem != "" {
		return problem
	}
	rewards, score := b.Rows.Reward[from:], result.Score
	for k := range rewards {
		rewards[k] = cfg.DefaultStepReward
	}
	for _, s := range result.StepOutputs {
		at, problem := b.locator.message(s, rule)
		if problem != "" {
			return problem
		}
		step := b.locator.step[at]
		if step < 0 {
			return fmt.Sprintf("step_index %d is an assistant message that does not belong to a step (message %d)", s.StepIndex, at)
		}
		rewards[step] = s.BaseReward
	}
	if cfg.StepScores == stepDeltas {
		b.locator.difference(rewards)
	}
	if len(result.StepOutputs) == 0 && n > 0 {
		rewards[n-1] += result.Score
	}
	if cfg.EnvRewardWeight != 0 {
		for k := range rewards {
			own := cfg.EnvRewardWeight * t.Steps[k].EnvReward
			rewards[k] += own
			score += own
		}
	}
	for k := range rewards {
		b.Rows.Score[from+k] = score
		if !finite(rewards[k]) || !finite(score) {
			return fmt.Sprintf("step %d has base reward %v and episode score %v", k, rewards[k], score)
		}
	}
	return ""
}

// Totals returns the episode score of a scored trajectory and the sum of its base
// rewards, as Join finds them, from what a file keeps of it.
func (c Config) Totals(t *rl.Trajectory) (score, sum float64) {
	outputs := t.Evaluation.StepOutputs
	score = t.Evaluation.Score
	last := rl.StepIndex(-1)
	for _, o := range outputs {
		if c.StepScores != stepDeltas {
			sum += o.BaseReward
		} else if o.StepIndex > last {
			last, sum = o.StepIndex, o.BaseReward
		}
	}
	sum += c.DefaultStepReward * float64(len(t.Steps)-len(outputs))
	if len(outputs) == 0 && len(t.Steps) > 0 {
		sum += score
	}
	for i := range t.Steps {
		own := c.EnvRewardWeight * t.Steps[i].EnvReward
		score, sum = score+own, sum+own
	}
	return score, sum
}
