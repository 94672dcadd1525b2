package merit

import (
	"context"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/mixture"
)

// openMixture is openPlayed for a mixture of environments.
func (s *Session) openMixture(ctx context.Context, o *options, splits []string) error {
	parts := s.Config.Environment.Mixture
	opens, specs := make([]OpenEnv, len(parts)), make([]env.Spec, len(parts))
	s.parts = make([]host.Found, len(parts))
	var problems []error
	for i, part := range parts {
		e := s.Config.Environment
		e.Program, e.Module, e.Options, e.Mixture = part.Program, part.Module, part.Options, nil
		found, open, err := s.openProgram(ctx, o, e, fmt.Sprintf("environment.mixture[%d]", i), splits)
		problems = append(problems, err)
		opens[i], s.parts[i], specs[i] = open, found, specOf(found)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	spec, err := mixture.Join(parts, specs)
	if err != nil {
		return s.Config.Places.Explain("", &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: "environment.mixture", What: err.Error(),
			Hint: "set options with which all environments look alike to the policy, such as one size",
		})
	}
	s.Plugin, s.sources = host.Found{
		Name: spec.Name, Kind: host.Environment, Version: spec.Version, Actions: spec.Actions, FeatureShape: spec.FeatureShape,
		MaxSteps: spec.MaxSteps, Tools: spec.Tools, Encodes: spec.Encodes,
	}, spec.Mixture
	o.open = func(ctx context.Context, split string, worker int) (env.Env, error) {
		var envs []env.Env
		for _, open := range opens {
			e, err := open(ctx, split, worker)
			if err != nil {
				for _, e := range envs {
					err = errors.Join(err, e.Close())
				}
				return nil, err
			}
			envs = append(envs, e)
		}
		return mixture.New(parts, envs)
	}
	return nil
}

// openProgram finds the plug-in of e, whose key is at, and reads its description. It returns
// its objections to the options for each of splits.
func (s *Session) openProgram(ctx context.Context, o *options, e Environment, at string, splits []string) (found host.Found, open OpenEnv, err error) {
	cfg, err := e.Host(train.SplitTrain)
	if err != nil {
		return found, nil, err
	}
	cfg.Log, cfg.Getenv, cfg.Allow = o.log, o.getenv, s.Config.Plugins.allowed()
	if cfg.Sandbox = s.Config.Sandbox; cfg.Sandbox.CacheDir == "" {
		cfg.Sandbox.CacheDir = CacheFolder(o.getenv)
	}
	key := at + ".plugin"
	if e.Module != "" {
		key = at + ".module"
	}
	if cfg.Path, err = find(s.Config, key, cfg.Path, o.getenv); err != nil {
		return found, nil, err
	}
	var problems []error
	for i, split := range splits {
		cfg.Split = split
		described, err := host.Check(ctx, cfg)
		if i == 0 { // training, unless the program only plays another split
			found = described
		}
		if err != nil {
			problems = append(problems, err)
		}
		if err != nil && !errors.Is(err, fault.Of(fault.Config, "")) {
			break // the plug-in does not run, whatever the split
		}
	}
	open = func(ctx context.Context, split string, _ int) (env.Env, error) {
		cfg := cfg
		cfg.Split, cfg.Digest = split, found.Digest // play in the same binary that was described
		return host.Open(ctx, cfg)
	}
	return found, open, s.Config.Places.Explain(at, errors.Join(problems...))
}

// specOf returns the description of an environment without what only conversations need.
func specOf(f host.Found) env.Spec {
	return env.Spec{Name: f.Name, FeatureShape: f.FeatureShape, Actions: f.Actions, MaxSteps: f.MaxSteps, Tools: f.Tools, Tasks: f.Tasks, Encodes: f.Encodes}
}
