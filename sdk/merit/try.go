package merit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// Trial is the result of Try.
type Trial struct {
	// Manifest is the manifest that a run would have.
	Manifest run.Manifest
	// Notes are allowed but worth a look, such as a reward that rejects the
	// sample.
	Notes []string
	// Calls are those that a run makes to language models that judge.
	Calls []calls
}

// Try starts everything that cfg names without training: the environment for
// each split, the layout of the policy, and every reward, which scores sample.
// It returns all problems together, except those of Config.Validate, and tries
// whatever it can despite them.
func Try(ctx context.Context, cfg *Config, sample []*rl.Trajectory, opts ...Option) (*Trial, error) {
	s := &Session{Config: cfg}
	o := newOptions(opts)
	o.places = cfg.Places
	environment := s.tryEnvironment(ctx, &o)
	var there []Reward
	for _, r := range cfg.Rewards {
		if !slices.ContainsFunc(r.Chain(), Reward.absent) {
			there = append(there, r)
		}
	}
	if len(cfg.Sandbox.Validate()) > 0 {
		there = nil
	}
	var err error
	s.Rewards, err = loadRewards(ctx, cfg.Sandbox, there, o)
	if err != nil {
		return nil, errors.Join(environment, err, s.Close())
	}
	defer s.Close()
	t := &Trial{}
	if s.idle != nil {
		t.Notes = append(t.Notes, s.idle.Error())
	}
	err = errors.Join(environment, t.score(ctx, s.Parts, sample))
	t.Manifest, t.Calls = s.Manifest(), s.forecast()
	return t, err
}

// absent reports whether r has no file, or a judge with problems: Config.Validate reports both.
func (r Reward) absent() bool {
	switch {
	case r.Environment:
		return false
	case r.Judge != nil:
		return len(r.Judge.Validate()) > 0
	}
	ref, err := r.Reference()
	if err == nil {
		_, err = os.Stat(ref.Path)
	}
	return err != nil
}

func (s *Session) tryEnvironment(ctx context.Context, o *options) error {
	if o.open == nil && (len(s.Config.Environment.Validate()) > 0 || len(s.Config.Sandbox.Validate()) > 0) {
		return nil // Config.Validate reports it
	}
	if o.open == nil && len(s.Config.Environment.Mixture) == 0 && s.Config.Environment.Harbor == "" {
		cfg, err := s.Config.Environment.Host(train.SplitTrain)
		if err != nil || cfg.Path == "" || len(cfg.Validate()) > 0 {
			return nil // Config.Validate reports it
		}
	}
	if err := s.openEnvironment(ctx, o, train.Splits()...); err != nil {
		return err
	}
	if err := s.Config.Rollout.Suits(env.Spec{Name: s.Plugin.Name, MaxSteps: s.Plugin.MaxSteps, Actions: s.Plugin.Actions, Tools: s.Plugin.Tools}); err != nil {
		return s.Config.Places.Explain("", err)
	}
	if err := s.samples(); err != nil {
		return err
	}
	if len(s.Config.Policy.Validate()) > 0 {
		return nil // Config.Validate reports it
	}
	open, release, err := s.learner(ctx, o, max(s.Config.Train.Iterations, 0))
	if err != nil || s.Player != nil {
		_, _, missing := s.Config.initial()
		return errors.Join(closed(err, release), missing)
	}
	p, err := open(ctx, s.spec(), max(s.Config.Train.Iterations, 0))
	if err != nil {
		return err
	}
	return errors.Join(s.Config.tryStart(ctx, p), p.Close())
}

// closed releases what was opened for a description, unless err is set.
func closed(err error, release func() error) error {
	if err != nil {
		return err
	}
	return release()
}

// sampleOf returns the sample to try a part on: the part's own sample, if it
// has one.
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

// score lets each part score the sample. An outcome that the author chose (a
// score, no score, or an error) is not a problem, because the sample may not
// suit the reward. Any other outcome is, such as a score that is not a number.
func (t *Trial) score(ctx context.Context, parts []reward.Weighted, sample []*rl.Trajectory) error {
	var problems []error
	var all []reward.Weighted
	for _, part := range parts {
		all = append(all, members(part)...)
	}
	for _, part := range all {
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
					Hint: "change the reward to return a finite score for every conversation, or to report that it has none",
				}
				if a, ok := part.Scorer.(Adviser); ok {
					problem.Boundary, problem.Hint = a.Advice()
				}
				problems = append(problems, problem)
			}
			break // one per reward is enough
		}
	}
	return errors.Join(problems...)
}
