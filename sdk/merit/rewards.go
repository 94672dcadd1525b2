package merit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox"
)

// Rewards are loaded modules, the sandbox that runs them, and the scorers of
// this process.
type Rewards struct {
	Parts   []reward.Weighted
	Modules []*sandbox.Module // the scorers of the first Parts

	options options
	sandbox sandbox.Config
	runtime *sandbox.Runtime // nil without modules
}

// LoadRewards loads every module of list, or says what is wrong with each. A
// script is a module too: a .py or .js file, or the folder of one.
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
	return r, nil
}

// checkScorers looks at what a program adds, as Config.Validate does at what a
// file names.
func checkScorers(scorers []reward.Weighted) error {
	var problems []error
	for i, s := range scorers {
		switch {
		case s.Scorer == nil:
			problems = append(problems, misuse(fmt.Sprintf("scorer %d of the program is nil", i+1), "give WithScorer a scorer"))
		case math.IsNaN(s.Weight) || math.IsInf(s.Weight, 0):
			problems = append(problems, misuse(fmt.Sprintf("the weight of scorer %s is %v", s.Scorer.Info().Name, s.Weight), "give WithScorer a finite weight"))
		}
	}
	return errors.Join(problems...)
}

func (r *Rewards) load(ctx context.Context, cfg sandbox.Config, list []Reward) (err error) {
	if cfg.CacheDir == "" {
		cfg.CacheDir = CacheFolder(r.options.getenv)
	}
	cfg.Logger = r.options.log
	if r.runtime, err = sandbox.New(ctx, cfg); err != nil {
		return err
	}
	var problems []error
	for _, part := range list {
		m, err := r.runtime.LoadFile(ctx, part.Module)
		if err != nil {
			if f := fault.As(err); f != nil && f.Kind == fault.Refused && r.options.refused != nil {
				err = r.options.refused(part.Module, err)
			}
			problems = append(problems, err)
			continue
		}
		r.Modules = append(r.Modules, m)
		r.Parts = append(r.Parts, reward.Weighted{Scorer: m, Weight: part.Weight, Name: part.Name})
	}
	return errors.Join(problems...)
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

// Close frees the sandbox.
func (r *Rewards) Close() error {
	if r.runtime == nil {
		return nil
	}
	return r.runtime.Close(context.Background())
}
