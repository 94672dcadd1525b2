package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options say what to play.
type Options struct {
	Split      string
	Groups     int
	Checkpoint *run.Checkpoint // nil = the policy before training
	// Continuations is how often each state is continued for Monte-Carlo advantages; 0 = none.
	Continuations int
}

// Results describe a configuration.
type Results struct {
	States  int     `json:"states"`  // reached from all starts together
	Value   float64 `json:"value"`   // mean exact value of the starts
	Rows    []Row   `json:"rows"`    // the estimator first, then those of Monte Carlo
	Seconds float64 `json:"-"`       // wall clock of playing and estimating for the estimator
	Typical float64 `json:"typical"` // root mean square of the exact advantages
}

// Measure plays groups as training does, with the branches of the configuration, and compares the
// advantages of the members' steps with the exact ones.
func Measure(ctx context.Context, s *merit.Session, o Options) (_ *Results, err error) {
	p, err := s.OpenPlayer(ctx, nil, o.Checkpoint)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	rater, ok := p.(policy.Rater)
	if !ok || s.Config.Policy.Plugin != "" {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "policy.plugin", What: "the probabilities of its actions are not known in every state", Hint: "use the embedded network"}
	}
	e, err := s.OpenEnv(ctx, o.Split, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := suits(e.Spec()); err != nil {
		return nil, err
	}
	open := func(ctx context.Context, worker int) (env.Env, error) { return s.OpenEnv(ctx, o.Split, worker) }
	c, err := rollout.New(s.Config.Rollout, open, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	m := &measurement{cfg: s.Config, env: e, rater: rater, collector: c, rewards: reward.NewPool(s.Parts, s.Config.Rollout.Parallel), carlo: newCarlo(o.Continuations)}
	for first := 0; first < o.Groups; first += s.Config.Rollout.Groups {
		plan := rollout.Plan{
			Seed: rl.Seed(s.Config.Seed).Child(credit.SeedRollout), FirstGroup: first, Branch: true,
			Groups: min(s.Config.Rollout.Groups, o.Groups-first), Members: s.Config.Rollout.Members, Prefix: o.Split + "-",
		}
		if err := m.batch(ctx, plan); err != nil {
			return nil, err
		}
	}
	return m.results(), nil
}

func suits(spec env.Spec) error {
	if len(spec.Actions) > 0 && spec.Features() > 0 {
		return nil
	}
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "environment", What: spec.Name + " has no list of actions or no features, so its states cannot be visited one by one", Hint: "use an environment with a list of actions, such as sokoban"}
}

// measurement collects steps with their advantages.
type measurement struct {
	cfg       *merit.Config
	env       env.Env
	rater     policy.Rater
	collector *rollout.Collector
	rewards   *reward.Pool

	estimator series
	carlo     *carlo
	starts    int
	sum       Results
}

// batch plays and credits a batch as training does, and solves the start of each group.
func (m *measurement) batch(ctx context.Context, plan rollout.Plan) error {
	began := time.Now()
	groups, played, err := m.collector.Collect(ctx, plan, nil)
	if err != nil {
		return err
	}
	pipeline := credit.Pipeline{Rewards: m.rewards, Align: m.cfg.Align, Advantage: &m.cfg.Advantage}
	batch, err := pipeline.Run(ctx, groups)
	if err != nil {
		return err
	}
	m.sum.Seconds += time.Since(began).Seconds()
	m.estimator.envSteps += played.Steps
	next := 0
	for i, g := range groups {
		rows := batch.First[next : next+len(g.Trajectories)]
		next += len(rows)
		if err := m.group(ctx, plan, i, g, batch.Credit.Weight, rows); err != nil {
			return err
		}
	}
	return nil
}

// group adds the steps of the members of g, group i of the plan. Weight is that of every row of the
// batch, and first the row of the first step of each trajectory of g.
func (m *measurement) group(ctx context.Context, plan rollout.Plan, i int, g *rl.Group, weight []float64, first []int) error {
	horizon := m.env.Spec().MaxSteps
	if own := m.cfg.Rollout.MaxSteps; own > 0 && (own < horizon || horizon == 0) {
		horizon = own
	}
	graph, err := explore(ctx, m.env, g.Task.Seed, horizon)
	if err != nil {
		return err
	}
	chances, err := graph.chances(ctx, m.rater)
	if err != nil {
		return err
	}
	solved := graph.solve(chances, m.cfg.Advantage.Gamma, horizon)
	m.sum.States, m.sum.Value = m.sum.States+len(graph.nodes), m.sum.Value+solved.value[0][0]
	for n, t := range g.Trajectories {
		if t.BranchOf != "" {
			continue
		}
		exact, err := graph.advantages(solved, t)
		if err != nil {
			return err
		}
		if err := m.add(t, exact, weight[first[n]:]); err != nil {
			return err
		}
		if err := m.carlo.add(ctx, m, plan, i, t, exact); err != nil {
			return err
		}
	}
	m.starts++
	return nil
}

// add adds the steps of a member that are learned from.
func (m *measurement) add(t *rl.Trajectory, exact, weight []float64) error {
	total := 0.0
	for k := range t.Steps {
		step := &t.Steps[k]
		total += step.EnvReward
		if step.Credit != nil && weight[k] != 0 {
			m.estimator.add(step.Credit.Advantage, exact[k], m.starts)
		}
	}
	if t.Evaluation != nil && math.Abs(t.Evaluation.Score-total) <= 1e-9 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "rewards", What: fmt.Sprintf("the score of %s is not the sum of the rewards of the environment, for which alone exact values are known", t.ID),
		Hint: `use --set "rewards=[{environment: true}]"`,
	}
}

func (m *measurement) results() *Results {
	r := &m.sum
	r.Value /= float64(m.starts)
	r.Rows = append(r.Rows, m.estimator.row(m.cfg.Advantage.Estimator, m.cfg.Seed))
	r.Rows = append(r.Rows, m.carlo.rows(m.cfg.Seed)...)
	squares := 0.0
	for _, a := range m.estimator.exact {
		squares += a * a
	}
	r.Typical = math.Sqrt(squares / float64(len(m.estimator.exact)))
	return r
}
