// Package merit lets Go programs use Merit: open a configuration, train, resume,
// roll out and evaluate. The merit command adds flags to it.
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
// Features implement the sections traces and fleet of a configuration, judges
// and rubrics among its rewards, and the report of a run. They register
// themselves with this package. One import brings all of them:
//
//	import _ "github.com/merit-rl/merit/sdk/merit/standard"
//
// Without it, a configuration that uses a key of a feature is invalid at that
// key, and a run writes no report.
//
// # Processes, caches and plug-ins
//
// Close stops everything that Open started. The package changes no state of the
// process. Merit caches compiled modules in CacheFolder, unless the configuration
// or $MERIT_CACHE sets another folder. A program that scores on every CPU and must
// react within milliseconds should raise GOMAXPROCS by one. With
// sandbox.isolation: process, the program starts itself again as a worker. Such a
// program begins its main with
//
//	if sandbox.IsWorker(os.Args) {
//		os.Exit(sandbox.WorkerMain())
//	}
//
// A program finds plug-ins in files. A program that calls Main of the package
// plugins first in its main contains the plug-ins of Merit, as the merit command
// does.
//
// # Errors
//
// Errors are *fault.Errors, joined if there are several. Use errors.Is with
// fault.Of, or fault.As, to tell them apart.
package merit

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/host"
)

// Session is an opened configuration: the description of its environment and
// its loaded rewards. Its methods must not be called concurrently.
type Session struct {
	*Rewards
	Config *Config
	// Plugin describes the environment, as its plug-in reports it. Its path is
	// empty if the environment runs in this process, and for a mixture.
	Plugin host.Found
	// Player describes the policy of a plug-in, after Train or Try has opened
	// it.
	Player *run.Policy

	parts   []host.Found      // of a mixture
	sources []sampling.Source // likewise

	harbor io.Closer // the tasks of environment.harbor

	idle error // why the policy cannot be trained, if it cannot
}

// Open finds and loads everything that cfg names and the options do not
// replace. If that fails, its error lists all problems. Close frees the
// session's resources.
func Open(ctx context.Context, cfg *Config, opts ...Option) (*Session, error) {
	o := newOptions(opts)
	o.places = cfg.Places
	if cfg.Traced() && o.read == nil && o.open == nil && !cfg.Environment.Named() {
		return nil, misuse("the configuration learns from traces and has no environment to play in", "train with it, measure the traces themselves, or serve the trained policy to agents")
	}
	if cfg.Traced() && o.read == nil && len(cfg.Rewards)+len(o.scorers) == 0 {
		o.scorers = []reward.Weighted{{Scorer: reward.Environment{}, Weight: 1}} // as the run was measured
	}
	if problems := cfg.problems(o.open == nil && o.read == nil, len(o.scorers) == 0); len(problems) > 0 {
		return nil, cfg.Places.Explain("", errors.Join(problems...))
	}
	s := &Session{Config: cfg}
	environment := s.openEnvironment(ctx, &o, train.SplitTrain)
	var rewards error
	s.Rewards, rewards = loadRewards(ctx, cfg.Sandbox, cfg.priced(), o)
	if err := errors.Join(environment, rewards); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openEnvironment sets how the environment is started, reads its description,
// and returns its objections to the options for each of splits.
func (s *Session) openEnvironment(ctx context.Context, o *options, splits ...string) error {
	played := o.open != nil || s.Config.Environment.Named()
	if played || o.read == nil {
		if err := s.openPlayed(ctx, o, splits); err != nil {
			return err
		}
		if err := s.suits(); err != nil || o.read == nil {
			return err
		}
	}
	r, err := o.read(ctx, s.spec(), o.open)
	if err != nil {
		return err
	}
	if o.recorded = &r; !played {
		s.Plugin = host.Found{Name: r.Spec.Name, Version: r.Spec.Version, Actions: r.Spec.Actions}
	}
	return nil
}

// openPlayed is openEnvironment for a session with an environment.
func (s *Session) openPlayed(ctx context.Context, o *options, splits []string) error {
	if o.open != nil {
		return s.describe(ctx, o.open, splits)
	}
	if len(s.Config.Environment.Mixture) > 0 {
		return s.openMixture(ctx, o, splits)
	}
	if s.Config.Environment.Harbor != "" {
		return s.openHarbor(ctx, o, splits)
	}
	var err error
	s.Plugin, o.open, err = s.openProgram(ctx, o, s.Config.Environment, "environment", splits)
	return err
}

// suits checks that a policy that learns from traces can be measured in the environment.
func (s *Session) suits() error {
	traces, ok := s.Config.Traces.(TracesSection)
	if !ok || !traces.Chosen() {
		return nil
	}
	return s.Config.Places.Explain("", traces.Suits(s.spec(), s.Config.Policy.Plugin == ""))
}

// find returns the path of the plug-in that the key names.
func find(c *Config, key, plugin string, getenv func(string) string) (string, error) {
	path, err := host.Find(plugin, PluginFolders(getenv)...)
	if err == nil {
		return path, nil
	}
	named := *fault.As(err)
	named.Where = c.Places.Of(key) + ": " + named.Where
	return "", &named
}

// describe opens an environment of this process and reads its description.
func (s *Session) describe(ctx context.Context, open OpenEnv, splits []string) error {
	var problems []error
	for i, split := range splits {
		e, err := open(ctx, split, 0)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if spec := e.Spec(); i == 0 {
			s.Plugin = host.Found{Name: spec.Name, Version: spec.Version, Actions: spec.Actions, FeatureShape: spec.FeatureShape, MaxSteps: spec.MaxSteps, Tools: spec.Tools, Tasks: spec.Tasks, Encodes: spec.Encodes}
		}
		problems = append(problems, e.Close())
	}
	return errors.Join(problems...)
}

// spec returns what a policy and a sampler need to know about the environment.
func (s *Session) spec() env.Spec {
	spec := specOf(s.Plugin)
	spec.Mixture = s.sources
	return spec
}

// samples returns an error if training cannot draw tasks from the environment as
// configured.
func (s *Session) samples() error {
	var p fault.Problems
	p.Under("train.sampling", s.Config.Train.Sampling.Suits(s.spec().Sources()))
	return s.Config.Places.Explain("", errors.Join(p...))
}

// FindEnvironment finds the environment of cfg, or uses the environment of the
// options, and reads its description for the split. It is for programs that
// only play. It does not check rewards and policy. The returned host.Found is
// the same as Session.Plugin.
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

// Sendable returns an error if the program itself provides the environment, the
// policy or a scorer. Workers on other machines cannot run such a session.
func (s *Session) Sendable() error {
	switch scorers := s.options.scorers; {
	case s.Plugin.Path == "" && s.parts == nil && s.harbor == nil && s.options.open != nil:
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
		Boundary: fault.Fleet, Kind: fault.Refused, Where: part, What: "it is part of this program, and workers do not have it",
		Hint: "write it as a plug-in or a module, or play without a fleet",
	}
}

// PluginPaths returns the paths of the plug-ins of the environments, of which only a
// mixture has several, and of the policy. A path is empty if there is no such plug-in.
func (s *Session) PluginPaths() (environments []string, policy string, err error) {
	if s.Config.Policy.Plugin != "" && s.options.policy == nil {
		policy, err = find(s.Config, "policy.plugin", s.Config.Policy.Plugin, s.options.getenv)
	}
	for _, found := range s.environments() {
		environments = append(environments, found.Path)
	}
	return environments, policy, err
}

// environments returns the description of the environment, or of those of a mixture.
func (s *Session) environments() []host.Found {
	if s.parts != nil {
		return s.parts
	}
	return []host.Found{s.Plugin}
}

// module returns the entry of a reward in a manifest, without its weight.
func module(info reward.Info) run.Module {
	entry := info.Entry
	if entry == nil {
		entry = new(reward.Entry)
	}
	m := run.Module{
		Name: info.Name, Digest: info.Digest, ABI: info.ABI, StepIndexing: string(info.StepIndexing),
		Function: info.Function, With: info.With, Scores: entry.Function, Shape: entry.Shape, Batch: entry.Batch, LoadedWithout: info.LoadedWithout(),
	}
	for _, part := range info.Chain {
		m.Chain = append(m.Chain, module(part))
	}
	return m
}

// Manifest returns the manifest of a run of the session.
func (s *Session) Manifest() run.Manifest {
	m := run.NewManifest(ReadVersion().Version, s.Config.Seed)
	for _, p := range s.Parts {
		part := module(p.Scorer.Info())
		part.Name, part.Weight = cmp.Or(p.Name, part.Name), p.Weight
		m.Rewards = append(m.Rewards, part)
	}
	for _, found := range s.environments() {
		plugin := run.Plugin{Name: found.Name, Version: found.Version}
		if found.Digest != "" {
			plugin.Digest = "sha256:" + found.Digest
		}
		m.Plugins = append(m.Plugins, plugin)
	}
	m.Policy = s.Player
	if s.options.recorded != nil {
		m.Traces = &s.options.recorded.About
	}
	return m
}
