package merit

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// Trial is what Try found out.
type Trial struct {
	// Manifest says what a run would be made of.
	Manifest run.Manifest
	// Notes are what is allowed and yet worth a look, such as a reward that
	// refuses the sample.
	Notes []string
}

// Try starts everything that cfg names and trains nothing: the environment for
// each split, the policy's layout, and every reward, which scores sample. It
// reports every problem at once but for those of Config.Validate, and tries
// what can be tried in spite of them.
func Try(ctx context.Context, cfg *Config, sample []*rl.Trajectory, opts ...Option) (*Trial, error) {
	s := &Session{Config: cfg}
	o := newOptions(opts)
	o.places = cfg.Places
	environment := s.tryEnvironment(ctx, &o)
	var there []Reward
	for _, r := range cfg.Rewards {
		ref, err := r.Reference()
		if err == nil {
			_, err = os.Stat(ref.Path)
		}
		if r.Environment || r.Judge == nil && err == nil || r.Judge != nil && len(r.Judge.Validate()) == 0 {
			there = append(there, r)
		}
	}
	if len(cfg.Sandbox.Validate()) > 0 {
		there = nil
	}
	var err error
	s.Rewards, err = loadRewards(ctx, cfg.Sandbox, there, o)
	if err != nil {
		return nil, errors.Join(environment, err)
	}
	defer s.Close()
	t := &Trial{}
	if s.idle != nil {
		t.Notes = append(t.Notes, s.idle.Error())
	}
	err = errors.Join(environment, t.score(ctx, s.Parts, sample))
	t.Manifest = s.Manifest()
	return t, err
}

func (s *Session) tryEnvironment(ctx context.Context, o *options) error {
	if o.open == nil {
		cfg, err := s.Config.Environment.Host(train.SplitTrain)
		if err != nil || cfg.Path == "" || len(cfg.Validate()) > 0 {
			return nil // a problem of the configuration already
		}
	}
	if err := s.openEnvironment(ctx, o, train.Splits()...); err != nil {
		return err
	}
	if err := s.Config.Rollout.Suits(env.Spec{Name: s.Plugin.Name, MaxSteps: s.Plugin.MaxSteps, Actions: s.Plugin.Actions, Tools: s.Plugin.Tools}); err != nil {
		return s.Config.Places.Explain("", err)
	}
	if len(s.Config.Policy.Validate()) > 0 {
		return nil // likewise
	}
	open, release, err := s.learner(ctx, o, max(s.Config.Train.Iterations, 0))
	if err != nil || s.Player != nil {
		return closed(err, release)
	}
	p, err := open(ctx, s.spec(), max(s.Config.Train.Iterations, 0))
	if err != nil {
		return err
	}
	return p.Close()
}

// closed ends what was opened to be asked, unless err kept it from being opened.
func closed(err error, release func() error) error {
	if err != nil {
		return err
	}
	return release()
}

// sampleOf returns what a part is tried on: a sample of its own, if it has one.
func sampleOf(s reward.Scorer, sample []*rl.Trajectory) ([]*rl.Trajectory, error) {
	own, ok := s.(Sampler)
	if !ok {
		return sample, nil
	}
	t, err := own.Sample()
	if t == nil || err != nil {
		return nil, err
	}
	return []*rl.Trajectory{t}, nil
}

// score lets each part score the sample. What the author decides, a score,
// none, or an error, is no problem: the sample may not be what the reward is
// for. What the author did not decide, such as a score that is not a number, is.
func (t *Trial) score(ctx context.Context, parts []reward.Weighted, sample []*rl.Trajectory) error {
	var problems []error
	for _, part := range parts {
		sample, err := sampleOf(part.Scorer, sample)
		if err != nil {
			return err
		}
		pool := reward.NewPool([]reward.Weighted{{Scorer: part.Scorer, Weight: 1}}, 1)
		evaluations, err := pool.EvaluateAll(ctx, sample, nil)
		if err != nil {
			return err
		}
		where := "reward " + part.Scorer.Info().Name
		for i, e := range evaluations {
			e = align.Check(sample[i], e, pool.StepIndexing())
			what := fmt.Sprintf("%s on the sample %s: %s", e.Outcome, sample[i].ID, e.Reason)
			switch e.Outcome {
			case reward.Scored, reward.Invalid:
				continue
			case reward.GuestError:
				t.Notes = append(t.Notes, where+": "+what)
			default:
				problem := &fault.Error{
					Boundary: fault.Sandbox, Kind: fault.Invalid, Where: where, What: what,
					Hint: "a reward must give every conversation a finite score, or say that it has none",
				}
				if a, ok := part.Scorer.(Adviser); ok {
					problem.Boundary, problem.Hint = a.Advice()
				}
				problems = append(problems, problem)
			}
			break // one for each reward says enough
		}
	}
	return errors.Join(problems...)
}
