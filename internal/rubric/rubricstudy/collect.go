package rubricstudy

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/study"
	"github.com/merit-rl/merit/sdk/merit"
)

// collect plays episodes, one from each start, and returns their cases. It skips episodes in
// which no work was done, because no rubric was written.
func collect(ctx context.Context, s *merit.Session, split string, episodes int, progress func(string, int, int)) (cases []*study.Case, err error) {
	all, err := play(ctx, s, split, episodes, anybody{}, progress)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if len(t.Steps) == 0 || t.Steps[len(t.Steps)-1].Info[rubric.InfoWorkflow] == nil {
			continue
		}
		c, err := study.Read(t)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Protocol, Where: s.Plugin.Name,
			What: fmt.Sprintf("none of %d episodes ended with outputs of workers", episodes),
			Hint: "use an environment in which rubrics are written, such as rubric",
		}
	}
	return cases, nil
}

// play plays episodes of a split with p; the starts do not depend on p.
func play(ctx context.Context, s *merit.Session, split string, episodes int, p policy.Policy, progress func(string, int, int)) (out []*rl.Trajectory, err error) {
	cfg := s.Config.Rollout
	cfg.StopPattern = "" // it may match texts of another policy
	open := func(ctx context.Context, worker int) (env.Env, error) { return s.OpenEnv(ctx, split, worker) }
	collector, err := rollout.New(cfg, open, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, collector.Close()) }()
	h := fnv.New64a()
	h.Write([]byte(split))
	plan := rollout.Plan{Seed: rl.Seed(s.Config.Seed).Path(credit.SeedCheck, h.Sum64()), Groups: episodes, Members: 1, Prefix: "study-" + split + "-"}
	groups, _, err := collector.Collect(ctx, plan, func(p rollout.Progress) {
		if progress != nil {
			progress(Playing, p.Episodes, p.Total)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		t := g.Trajectories[0]
		if t.StopReason == rl.StopError {
			return nil, &fault.Error{Boundary: fault.Plugin, Kind: fault.Crashed, Where: t.ID, What: "the episode failed: " + t.Error, Hint: "check the log of the environment"}
		}
		out = append(out, t)
	}
	return out, nil
}

// anybody is a policy that gets work done: it chooses random actions, and writes a meaningless
// rubric if a text is required.
type anybody struct{}

// Version implements policy.Policy.
func (anybody) Version() uint64 { return 0 }

// Act implements policy.Policy.
func (anybody) Act(_ context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	for i, o := range observations {
		if len(o.Actions) == 0 {
			decisions[i].Action = rl.Action{Kind: rl.ActionText, Text: something}
			continue
		}
		var open []int
		for a := range o.Actions {
			if o.Mask == nil || o.Mask[a] == 1 {
				open = append(open, a)
			}
		}
		if len(open) > 0 {
			decisions[i].Action = rl.Action{Kind: rl.ActionChoice, Choice: open[min(int(o.Seed.Uniform()*float64(len(open))), len(open)-1)]}
		}
	}
	return nil
}

// something is a meaningless rubric.
const something = `{"rubric": {"name": "something", "criteria": [{"name": "good", "weight": 1, "rule": {"language": "python", "code": "def rule(output, task):\n    return True\n"}}]}}`
