package train

import (
	"context"
	"time"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/base/cputime"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// play lets p play a plan. It adds what the answers of the policy used to playing,
// and what rewards used to scoring, also if the plan is not finished.
func (l *loop) play(ctx context.Context, p Player, plan rollout.Plan, what string, playing, scoring *run.Spent) (*Played, error) {
	meter := new(cost.Meter)
	defer func() { scoring.Models = scoring.Models.Plus(meter.Models()) }()
	played, err := p.Play(cost.With(ctx, meter), plan, l.progress(what))
	if err != nil || played == nil {
		return nil, err
	}
	for i := range played.Evaluations {
		scoring.Fuel += played.Evaluations[i].Fuel
	}
	if _, recorded := p.(Recorded); !recorded && played.Weights == nil { // others paid for recordings
		playing.Models = playing.Models.Plus(answers(played.Groups, l.deps.PolicyModel, l.deps.Prices))
		playing.Fuel += fuel(played.Groups)
	}
	return played, nil
}

// environmentFuel is the metric with the fuel of an episode in an environment that is a
// module.
const environmentFuel = "env_fuel"

// fuel returns the fuel that environments report of their episodes.
func fuel(groups []*rl.Group) (sum uint64) {
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if used := t.Metrics[environmentFuel]; used > 0 && used < 1<<53 {
				sum += uint64(used)
			}
		}
	}
	return sum
}

// answers returns what the answers of a policy used, and what environments report of
// the models that they asked.
func answers(groups []*rl.Group, model cost.Price, prices cost.Prices) cost.Models {
	var own cost.Usage
	var others cost.Models
	for _, g := range groups {
		for _, t := range g.Trajectories {
			for i := min(t.BranchAt, len(t.Steps)); i < len(t.Steps); i++ {
				own = own.Plus(answer(&t.Steps[i]))
				if used := reported(&t.Steps[i], prices); used != nil {
					others = others.Plus(used)
				}
			}
		}
	}
	if own.Calls == 0 {
		return others
	}
	own.Money = model.Of(own.Prompt, own.Cached, own.Completion)
	return others.Plus(cost.Models{model.Model: own})
}

// reported returns what an environment reports of the models that it asked for a step:
// the info model_usage, which is untrusted.
func reported(s *rl.Step, prices cost.Prices) cost.Models {
	text, ok := s.Info["model_usage"]
	var used cost.Models
	if !ok || strictjson.Unmarshal(text, &used) != nil {
		return nil
	}
	for name, u := range used {
		if !u.Valid() {
			return nil
		}
		price, _ := prices.Of(name)
		u.Money = price.Of(u.Prompt, u.Cached, u.Completion)
		used[name] = u
	}
	return used
}

// answer returns the usage that a step reports, which is untrusted, or that its tokens
// show.
func answer(s *rl.Step) (u cost.Usage) {
	text, ok := s.Info["usage"]
	if !ok && s.Prompt != nil {
		return cost.Usage{Calls: 1, Prompt: int64(s.Prompt.Keep + len(s.Prompt.Tokens)), Completion: int64(len(s.Tokens))}
	}
	var w struct {
		Prompt     int64 `json:"prompt"`
		Cached     int64 `json:"cached"`
		Completion int64 `json:"completion"`
	}
	used := cost.Usage{Calls: 1}
	if !ok || strictjson.Unmarshal(text, &w) != nil {
		return u
	}
	if used.Prompt, used.Cached, used.Completion = w.Prompt, w.Cached, w.Completion; !used.Valid() {
		return u
	}
	return used
}

// spent fills the times and costs of s: those of all iterations, and those of the
// final evaluations, which have just ended.
func (l *loop) spent(s *run.Summary, metrics []run.Iteration) {
	final := l.unfinished
	final.lap(&s.Time.Evaluation, &s.Time.CPU.Test)
	s.Cost = final.line.Cost
	for _, it := range metrics {
		s.Time.Training += it.Time.Total - it.Time.Validate
		s.Time.Evaluation += it.Time.Validate
		s.Time.CPU, s.Cost = s.Time.CPU.Plus(it.Time.CPU), s.Cost.Plus(it.Cost)
	}
	if len(s.Cost.Total().Models) > 0 {
		s.Currency = l.deps.Prices.Currency
	}
}

// repeat records what an iteration used that was interrupted.
func (l *loop) repeat() error {
	it := l.unfinished
	if it == nil {
		return nil
	}
	return l.dir.Repeat(run.Repeated{
		Seconds: time.Since(it.begin).Seconds(), CPU: it.line.Time.CPU.Total() + cputime.Seconds() - it.cpu, Cost: it.line.Cost,
	})
}
