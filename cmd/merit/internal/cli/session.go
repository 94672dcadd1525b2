package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/rewards"
	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/plugins/host"
)

// source is where a configuration comes from: a file and what the command line
// puts over it.
type source struct {
	path string
	set  []string
	seed uint64

	iterations, parallel int
}

// flags adds the flags that every verb with a configuration has.
func (s *source) flags(f *pflag.FlagSet) {
	f.StringVarP(&s.path, "config", "c", "", "configuration file")
	f.StringArrayVar(&s.set, "set", nil, "put a value over the configuration: key.path=value (repeatable)")
	f.Uint64Var(&s.seed, "seed", 0, "the same as --set seed=")
	f.IntVar(&s.parallel, "parallel", 0, "the same as --set rollout.parallel=; it never changes a result")
}

// overrides are --set and the flags that stand for one.
func (s *source) overrides(f *pflag.FlagSet) []string {
	all := append([]string(nil), s.set...)
	for _, short := range []struct{ flag, key string }{
		{"iterations", "train.iterations"}, {"parallel", "rollout.parallel"}, {"seed", "seed"},
	} {
		if f.Changed(short.flag) {
			all = append(all, short.key+"="+f.Lookup(short.flag).Value.String())
		}
	}
	return all
}

// load reads the configuration; without -c it is that of the run in dir.
func (s *source) load(f *pflag.FlagSet, dir string) (*config.File, error) {
	path := s.path
	if path == "" && dir != "" {
		path = filepath.Join(dir, run.ConfigFile)
	}
	if path == "" {
		return nil, &fault.Error{
			Boundary: fault.CLI, Kind: fault.Missing, What: "no configuration is named",
			Hint: "name one with -c; examples/sokoban/train.yaml is a complete one",
		}
	}
	return config.Load(path, s.overrides(f))
}

// loadResumed reads the configuration with which the run in dir is to go on. A
// run that was stopped before it wrote its own begins with that of -c.
func (s *source) loadResumed(f *pflag.FlagSet, dir string) (*config.File, error) {
	now, err := s.load(f, dir)
	if err != nil {
		return nil, err
	}
	began, err := config.Load(filepath.Join(dir, run.ConfigFile), nil)
	if errors.Is(err, fault.Of("", fault.Missing)) {
		return now, nil
	}
	if err != nil {
		return nil, err
	}
	return now, began.CheckResume(now)
}

// session is a configuration with everything that it names: the plug-in, found
// and asked who it is, and the rewards, loaded.
type session struct {
	file    *config.File
	plugin  host.Found
	rewards *rewards.Loaded

	host host.Config // of the plug-in, but for the split
}

// open finds and loads what file names, or says all that is wrong with it.
func open(ctx context.Context, h *console.Host, file *config.File) (*session, error) {
	s := &session{file: file}
	pluginErr := openPlugin(ctx, h, s, train.SplitTrain)
	var err error
	s.rewards, err = rewards.LoadAll(ctx, h, file.Sandbox, file.Rewards)
	if err := errors.Join(pluginErr, err); err != nil {
		if s.rewards != nil {
			s.rewards.Close(ctx)
		}
		return nil, err
	}
	return s, nil
}

// openPlugin finds the plug-in and holds it to the options of the
// configuration, for each of splits.
func openPlugin(ctx context.Context, h *console.Host, s *session, splits ...string) error {
	path, err := findPlugin(h, s.file.Environment.Plugin)
	if err != nil {
		named := *fault.As(err)
		named.Where = s.file.Places.Of("environment.plugin") + ": " + named.Where
		return &named
	}
	if s.host, err = s.file.Environment.Host(train.SplitTrain); err != nil {
		return err
	}
	s.host.Path, s.host.Log = path, h.Logger()
	var problems []error
	for _, split := range splits {
		cfg := s.host
		cfg.Split = split
		if s.plugin, err = host.Check(ctx, cfg); err != nil {
			problems = append(problems, err)
		}
		if err != nil && !errors.Is(err, fault.Of(fault.Config, "")) {
			break // it does not run for any other split either
		}
	}
	return s.file.Places.Explain("environment", errors.Join(problems...))
}

// openEnv starts the environment for a worker.
func (s *session) openEnv(ctx context.Context, split string, _ int) (env.Env, error) {
	cfg := s.host
	cfg.Split = split
	return host.Open(ctx, cfg)
}

// manifest says what a run of the session is made of.
func (s *session) manifest(h *console.Host) run.Manifest {
	m := run.NewManifest(ReadVersion().Version, s.file.Seed)
	m.Started = h.Now().UTC()
	m.Host, _ = os.Hostname() // unknown stays empty
	for _, p := range s.rewards.Parts {
		info := p.Scorer.Info()
		name := p.Name
		if name == "" {
			name = info.Name
		}
		m.Rewards = append(m.Rewards, run.Module{
			Name: name, Digest: info.Digest, ABI: info.ABI, StepIndexing: string(info.StepIndexing), Weight: p.Weight,
		})
	}
	m.Plugins = []run.Plugin{{Name: s.plugin.Name, Version: s.plugin.Version, Digest: "sha256:" + s.plugin.Digest}}
	return m
}

// defaultRun names a new run directory after the time.
func defaultRun(h *console.Host) string {
	return filepath.Join("runs", h.Now().UTC().Format("20060102-150405"))
}

// percent shows a share.
func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
