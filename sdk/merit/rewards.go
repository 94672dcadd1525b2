package merit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/built"
	"github.com/merit-rl/merit/sandbox"
)

// Rewards are loaded modules with the sandbox that runs them, judges, and the
// scorers of this process.
type Rewards struct {
	Parts   []reward.Weighted
	Modules []*sandbox.Module // in the order of Parts

	opened  []OpenedReward // the scorers that sections of rewards opened
	asked   []OpenedAsk    // what answers the questions of modules
	options options
	sandbox sandbox.Config
	runtime *sandbox.Runtime // nil without modules
}

// LoadRewards loads every module and judge of list. If some cannot be loaded,
// its error lists all of them. A script, that is a .py or .js file or its
// folder, is also a module. LoadRewards rejects a module whose sources have
// changed since it was built, and checks that a judge's server has the model
// and accepts the key.
func LoadRewards(ctx context.Context, cfg sandbox.Config, list []Reward, opts ...Option) (*Rewards, error) {
	return loadRewards(ctx, cfg, list, newOptions(opts))
}

func loadRewards(ctx context.Context, cfg sandbox.Config, list []Reward, o options) (*Rewards, error) {
	if err := checkScorers(o.scorers); err != nil {
		return nil, err
	}
	r := &Rewards{options: o, sandbox: cfg}
	if len(list) > 0 {
		if err := r.load(ctx, cfg, list); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	r.Parts = append(r.Parts, o.scorers...)
	if err := r.ready(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// checkScorers checks the scorers that the program adds, as Config.Validate
// checks the rewards of a file.
func checkScorers(scorers []reward.Weighted) error {
	var problems []error
	for i, s := range scorers {
		switch {
		case s.Scorer == nil:
			problems = append(problems, misuse(fmt.Sprintf("scorer %d of the program is nil", i+1), "pass a scorer to WithScorer"))
		case math.IsNaN(s.Weight) || math.IsInf(s.Weight, 0):
			problems = append(problems, misuse(fmt.Sprintf("the weight of scorer %s is %v, not a finite number", s.Scorer.Info().Name, s.Weight), "pass a finite weight to WithScorer"))
		}
	}
	return errors.Join(problems...)
}

func (r *Rewards) load(ctx context.Context, cfg sandbox.Config, list []Reward) (err error) {
	if cfg.CacheDir == "" {
		cfg.CacheDir = CacheFolder(r.options.getenv)
	}
	cfg.Logger = r.options.log
	if slices.ContainsFunc(list, Reward.sandboxed) {
		if r.runtime, err = sandbox.New(ctx, cfg); err != nil {
			return err
		}
	}
	var problems []error
	for i, part := range list {
		scorer, err := r.loadChain(ctx, fmt.Sprintf("rewards[%d]", i), part.Chain(), cfg)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		r.Parts = append(r.Parts, reward.Weighted{Scorer: scorer, Weight: part.Weight, Name: part.Name})
	}
	return errors.Join(problems...)
}

// loadChain loads the reward at the key at and those that are asked after it.
func (r *Rewards) loadChain(ctx context.Context, at string, list []Reward, cfg sandbox.Config) (reward.Scorer, error) {
	var parts []reward.Weighted
	var problems []error
	for i, part := range list {
		scorer, err := r.loadOne(ctx, at+strings.Repeat(".otherwise", i), part, cfg)
		problems = append(problems, err)
		parts = append(parts, reward.Weighted{Scorer: scorer, Weight: 1, Name: part.Name})
	}
	if err := errors.Join(problems...); err != nil || len(parts) == 1 {
		return parts[0].Scorer, err
	}
	c, err := newChain(parts)
	return c, r.options.places.Explain(at, err)
}

// loadOne loads the reward at the key at.
func (r *Rewards) loadOne(ctx context.Context, at string, part Reward, cfg sandbox.Config) (reward.Scorer, error) {
	switch {
	case part.Environment:
		return reward.Environment{}, nil
	case part.Judge != nil:
		return r.open(ctx, at+".judge", part.Judge, RewardOptions{Sandbox: cfg})
	}
	scorer, err := r.loadModule(ctx, at, part, cfg)
	if err != nil || part.Rubric == nil {
		return scorer, err
	}
	return r.open(ctx, at+".rubric", part.Rubric, RewardOptions{Sandbox: cfg, Module: scorer})
}

func (r *Rewards) loadModule(ctx context.Context, at string, part Reward, cfg sandbox.Config) (reward.Scorer, error) {
	ref, err := part.Reference()
	if err != nil {
		return nil, err
	}
	if !r.options.outdated {
		if err := built.Check(ref.Path); err != nil {
			return nil, err
		}
	}
	var m *sandbox.Module
	if part.Ask == nil {
		m, err = r.runtime.LoadReference(ctx, ref)
	} else {
		m, err = r.loadAsking(ctx, at, ref, part.Ask, RewardOptions{Sandbox: cfg})
	}
	if err != nil {
		if f := fault.As(err); f != nil && f.Kind == fault.Refused && r.options.refused != nil {
			err = r.options.refused(ref.Path, err)
		}
		return nil, err
	}
	r.Modules = append(r.Modules, m)
	return m, nil
}

// loadAsking loads a module that may ask a language model.
func (r *Rewards) loadAsking(ctx context.Context, at string, ref sandbox.Reference, s AskSection, o RewardOptions) (*sandbox.Module, error) {
	o.Getenv, o.Log = r.options.getenv, r.options.log
	opened, err := s.OpenAsk(ctx, o)
	if err != nil {
		return nil, r.options.places.Explain(at+".ask", err)
	}
	r.asked = append(r.asked, opened)
	return r.runtime.LoadAsking(ctx, ref, opened.Answerer)
}

// open opens the scorer of the section at the key at.
func (r *Rewards) open(ctx context.Context, at string, s RewardSection, o RewardOptions) (reward.Scorer, error) {
	o.Getenv, o.Log = r.options.getenv, r.options.log
	opened, err := s.OpenReward(ctx, o)
	if err != nil {
		return nil, r.options.places.Explain(at, err)
	}
	r.opened = append(r.opened, opened)
	return opened.Scorer, nil
}

// ready checks that the services behind the opened scorers are available, such
// as the servers of judges.
func (r *Rewards) ready(ctx context.Context) error {
	var problems []error
	for _, o := range r.opened {
		if o.Ready != nil {
			problems = append(problems, o.Ready(ctx))
		}
	}
	for _, o := range r.asked {
		problems = append(problems, o.Ready(ctx))
	}
	return errors.Join(problems...)
}

// answersFolder is the folder of a run for the answers of the language models that
// modules asked. A run that is resumed or repeated in its directory asks no question
// again. It is not part of what merit verify checks: trajectories have the answers
// too.
const answersFolder = "answers"

// record makes what answers the questions of modules keep the answers in a folder.
func (r *Rewards) record(folder string) error {
	var problems []error
	for n, o := range r.asked {
		problems = append(problems, o.Record(folder, n))
	}
	return errors.Join(problems...)
}

// JudgeTotals returns the requests to language models and their cost, by the
// name of the part that made them.
func (r *Rewards) JudgeTotals() map[string]reward.Asked {
	totals := map[string]reward.Asked{}
	for _, p := range reward.NewPool(r.Parts, 1).Parts() {
		if a, ok := p.Scorer.(reward.Asker); ok {
			if asked, asks := a.Asked(); asks {
				totals[p.Name] = asked
			}
		}
	}
	return totals
}

// Group reports whether a part compares the members of a group.
func (r *Rewards) Group() bool {
	for _, p := range r.Parts {
		if p.Scorer.Info().Group {
			return true
		}
	}
	return false
}

// Close frees the resources of the sandbox and the scorers.
func (r *Rewards) Close() error {
	var problems []error
	for _, o := range r.opened {
		problems = append(problems, o.Close())
	}
	for _, o := range r.asked {
		problems = append(problems, o.Close())
	}
	if r.runtime != nil {
		problems = append(problems, r.runtime.Close(context.Background()))
	}
	return errors.Join(problems...)
}
