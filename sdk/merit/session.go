// Package merit is Merit for Go programs: open a configuration, train, resume,
// roll out, evaluate. The merit command is flags around it.
//
//	cfg, err := merit.LoadConfig("train.yaml", "train.iterations=3")
//	s, err := merit.Open(ctx, cfg, merit.WithLogger(log))
//	defer s.Close()
//	summary, err := s.Train(ctx, merit.TrainOptions{Dir: "runs/first"})
//
// An environment, a policy and scorers written in Go need no plug-in and no
// module: see WithEnvironment, WithPolicy and WithScorer.
//
// # Features
//
// The sections traces and fleet of a configuration, judges and rubrics among its
// rewards, and the report of a run belong to features, which register themselves
// with this package. A program gets all of them by one import:
//
//	import _ "github.com/merit-rl/merit/sdk/merit/standard"
//
// Without it, a configuration that uses a key of a feature has a problem at that
// key, and a run has no report.
//
// # What a program decides
//
// What Open starts ends with Close; nothing of the process is changed. Compiled
// modules are kept in CacheFolder, unless the configuration or $MERIT_CACHE
// says otherwise. A program that computes with rewards on every processor and
// must react within milliseconds calls processors.Spare of internal/base/processors. With
// sandbox.isolation: process, the program starts itself as a worker, and begins
// its main with
//
//	if sandbox.IsWorker(os.Args) {
//		os.Exit(sandbox.WorkerMain())
//	}
//
// A program finds plug-ins in files. One that calls Main of the package plugins
// first in its main has those that come with Merit built in, as merit has.
//
// # Errors
//
// Errors are *fault.Errors, joined where there are several: errors.Is with
// fault.Of, and fault.As, tell them apart.
package merit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/host"
)

// Session is a configuration with everything that it names: the environment,
// asked who it is, and the rewards, loaded. It is for one call at a time.
type Session struct {
	*Rewards
	Config *Config
	// Plugin is what the environment's plug-in says of itself. Its path is
	// empty for an environment of this process.
	Plugin host.Found
	// Player is who the policy of a plug-in is, once Train or Try has asked it.
	Player *run.Policy

	idle error // why the policy cannot be trained, if it cannot
}

// Open finds and loads what cfg names and the options do not bring, or says all
// that is wrong with it. Close frees what it holds.
func Open(ctx context.Context, cfg *Config, opts ...Option) (*Session, error) {
	o := newOptions(opts)
	o.places = cfg.Places
	if cfg.Traced() && o.recorded == nil && o.open == nil && cfg.Environment.Plugin == "" {
		return nil, misuse("the configuration learns from traces, and there is nothing to play", "train with it, measure the traces themselves, or serve to agents what was learnt")
	}
	if problems := cfg.problems(o.open == nil && o.recorded == nil, len(o.scorers) == 0); len(problems) > 0 {
		return nil, cfg.Places.Explain("", errors.Join(problems...))
	}
	s := &Session{Config: cfg}
	environment := s.openEnvironment(ctx, &o, train.SplitTrain)
	var rewards error
	s.Rewards, rewards = loadRewards(ctx, cfg.Sandbox, cfg.Rewards, o)
	if err := errors.Join(environment, rewards); err != nil {
		if s.Rewards != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	return s, nil
}

// openEnvironment finds out who plays, how it is started, and what it has
// against the options of the configuration for each of splits.
func (s *Session) openEnvironment(ctx context.Context, o *options, splits ...string) error {
	if o.recorded != nil && o.open == nil && s.Config.Environment.Plugin == "" {
		spec := o.recorded.Spec
		s.Plugin = host.Found{Name: spec.Name, Version: spec.Version, Actions: spec.Actions}
		return nil
	}
	if err := s.openPlayed(ctx, o, splits); err != nil || o.recorded == nil {
		return err
	}
	return s.suits(o.recorded.Spec)
}

// openPlayed is openEnvironment where there is one.
func (s *Session) openPlayed(ctx context.Context, o *options, splits []string) error {
	if o.open != nil {
		return s.describe(ctx, o.open, splits)
	}
	cfg, err := s.Config.Environment.Host(train.SplitTrain)
	if err != nil {
		return err
	}
	cfg.Log, cfg.Getenv, cfg.Allow = o.log, o.getenv, s.Config.Plugins.allowed()
	if cfg.Path, err = find(s.Config, "environment.plugin", cfg.Path, o.getenv); err != nil {
		return err
	}
	o.open = func(ctx context.Context, split string, _ int) (env.Env, error) {
		cfg := cfg
		cfg.Split, cfg.Digest = split, s.Plugin.Digest // what was asked is what plays
		return host.Open(ctx, cfg)
	}
	var problems []error
	for _, cfg.Split = range splits {
		if s.Plugin, err = host.Check(ctx, cfg); err != nil {
			problems = append(problems, err)
		}
		if err != nil && !errors.Is(err, fault.Of(fault.Config, "")) {
			break // it does not run for any other split either
		}
	}
	return s.Config.Places.Explain("environment", errors.Join(problems...))
}

// suits holds the environment, in which a policy that learns from traces is
// measured, to what the traces teach.
func (s *Session) suits(traces env.Spec) error {
	wrong := func(what, hint string) error {
		return s.Config.Places.Explain("", &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "environment", What: what, Hint: hint})
	}
	switch {
	case len(s.Plugin.FeatureShape) > 0:
		return wrong("it shows features, and traces hold text", "choose an option of the environment that gives text only, or remove it: held-out traces then decide")
	case !slices.Equal(s.Plugin.Actions, traces.Actions):
		return wrong(fmt.Sprintf("its actions are %q, and the choices of the traces are %q", s.Plugin.Actions, traces.Actions), "list its actions, in its order, as traces.choices")
	}
	return nil
}

// find returns the path of the plug-in that is named at key.
func find(c *Config, key, plugin string, getenv func(string) string) (string, error) {
	path, err := host.Find(plugin, PluginFolders(getenv)...)
	if err == nil {
		return path, nil
	}
	named := *fault.As(err)
	named.Where = c.Places.Of(key) + ": " + named.Where
	return "", &named
}

// describe asks an environment of this process who it is.
func (s *Session) describe(ctx context.Context, open OpenEnv, splits []string) error {
	var problems []error
	for _, split := range splits {
		e, err := open(ctx, split, 0)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		spec := e.Spec()
		s.Plugin = host.Found{Name: spec.Name, Version: spec.Version, Actions: spec.Actions, FeatureShape: spec.FeatureShape, MaxSteps: spec.MaxSteps, Tools: spec.Tools}
		problems = append(problems, e.Close())
	}
	return errors.Join(problems...)
}

// spec is what a policy needs to know of the environment.
func (s *Session) spec() env.Spec {
	return env.Spec{FeatureShape: s.Plugin.FeatureShape, Actions: s.Plugin.Actions, Tools: s.Plugin.Tools}
}

// FindEnvironment finds the environment of cfg, or takes that of the options,
// and asks it who it is when it plays split: for programs that only play. Rewards
// and policy are not looked at. Found is as in Session.Plugin.
func FindEnvironment(ctx context.Context, cfg *Config, split string, opts ...Option) (OpenEnv, host.Found, error) {
	o := newOptions(opts)
	o.places = cfg.Places
	problems := cfg.problems(o.open == nil, false)
	if !slices.Contains(train.Splits(), split) {
		problems = append(problems, misuse(split+" is not a split", "use train, validation or test"))
	}
	if len(problems) > 0 {
		return nil, host.Found{}, cfg.Places.Explain("", errors.Join(problems...))
	}
	s := &Session{Config: cfg}
	if err := s.openEnvironment(ctx, &o, split); err != nil {
		return nil, host.Found{}, err
	}
	return o.open, s.Plugin, nil
}

// OpenEnv starts the environment for a split and a worker.
func (s *Session) OpenEnv(ctx context.Context, split string, worker int) (env.Env, error) {
	return s.options.open(ctx, split, worker)
}

// Sendable returns an error if the program brought a part of the session itself, in
// the place of what a configuration names: nobody else has it.
func (s *Session) Sendable() error {
	switch scorers := s.options.scorers; {
	case s.Plugin.Path == "" && s.options.open != nil:
		return unsendable("the environment " + s.Plugin.Name)
	case s.options.policy != nil:
		return unsendable("the policy")
	case len(scorers) > 0:
		return unsendable("the scorer " + scorers[0].Scorer.Info().Name)
	}
	return nil
}

func unsendable(part string) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Refused, Where: part, What: "it is a part of this program, which workers do not have",
		Hint: "write it as a plug-in or a module, or play without a fleet",
	}
}

// PluginPaths returns where the plug-ins of the environment and of the policy lie;
// empty is none.
func (s *Session) PluginPaths() (environment, policy string, err error) {
	if s.Config.Policy.Plugin != "" && s.options.policy == nil {
		policy, err = find(s.Config, "policy.plugin", s.Config.Policy.Plugin, s.options.getenv)
	}
	return s.Plugin.Path, policy, err
}

// Manifest says what a run of the session would be made of.
func (s *Session) Manifest() run.Manifest {
	m := run.NewManifest(ReadVersion().Version, s.Config.Seed)
	for _, p := range s.Parts {
		info := p.Scorer.Info()
		name := p.Name
		if name == "" {
			name = info.Name
		}
		entry := info.Entry
		if entry == nil {
			entry = new(reward.Entry)
		}
		m.Rewards = append(m.Rewards, run.Module{
			Name: name, Digest: info.Digest, ABI: info.ABI, StepIndexing: string(info.StepIndexing), Weight: p.Weight,
			Function: info.Function, With: info.With, Scores: entry.Function, Shape: entry.Shape, Batch: entry.Batch, LoadedWithout: info.LoadedWithout(),
		})
	}
	plugin := run.Plugin{Name: s.Plugin.Name, Version: s.Plugin.Version}
	if s.Plugin.Digest != "" {
		plugin.Digest = "sha256:" + s.Plugin.Digest
	}
	m.Plugins, m.Policy = []run.Plugin{plugin}, s.Player
	if s.options.recorded != nil {
		m.Traces = &s.options.recorded.About
	}
	return m
}
