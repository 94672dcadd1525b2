package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox"
)

// cacheVariable names the folder of compiled modules; "off" keeps none.
const cacheVariable = "MERIT_CACHE"

// judges are loaded rewards and the sandbox that runs them.
type judges struct {
	parts   []reward.Weighted
	modules []*sandbox.Module // the scorers of parts
	runtime *sandbox.Runtime
}

// close frees the sandbox. What it could not free does not matter any more.
func (j *judges) close(ctx context.Context) { _ = j.runtime.Close(context.WithoutCancel(ctx)) }

// group reports whether a part compares the members of a group.
func (j *judges) group() bool {
	for _, p := range j.parts {
		if p.Scorer.Info().Group {
			return true
		}
	}
	return false
}

// loadRewards loads every module, or says what is wrong with each.
func (h *Host) loadRewards(ctx context.Context, cfg sandbox.Config, rewards []config.Reward) (*judges, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return nil, err
	}
	if cfg.CacheDir == "" {
		cfg.CacheDir = h.cacheFolder()
	}
	runtime, err := sandbox.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	j := &judges{runtime: runtime}
	var problems []error
	for _, r := range rewards {
		m, err := runtime.LoadFile(ctx, r.Module)
		if err != nil {
			problems = append(problems, teach(r.Module, cfg.Limits, err))
			continue
		}
		j.modules = append(j.modules, m)
		j.parts = append(j.parts, reward.Weighted{Scorer: m, Weight: r.Weight, Name: r.Name})
	}
	if len(problems) > 0 {
		j.close(ctx)
		return nil, errors.Join(problems...)
	}
	return j, nil
}

// cacheFolder is where compiled modules are kept between commands, or "".
func (h *Host) cacheFolder() string {
	if folder := h.Env(cacheVariable); folder == "off" {
		return ""
	} else if folder != "" {
		return folder
	}
	for _, base := range []string{h.Env("XDG_CACHE_HOME"), filepath.Join(h.Env("HOME"), ".cache")} {
		if filepath.IsAbs(base) {
			return filepath.Join(base, "merit")
		}
	}
	return ""
}

// teach turns the refusal of a module into everything that is wrong with it and
// what its author can do about each.
func teach(module string, limits sandbox.Limits, err error) error {
	f := fault.As(err)
	if f == nil || f.Kind != fault.Refused {
		return err
	}
	if sandbox.IsScript(module) {
		if strings.Contains(err.Error(), "ModuleNotFoundError") {
			f.Hint = "a reward has the standard library and the pure-Python packages that lie in the folder beside reward.py; C extensions, such as numpy, do not run in the sandbox"
		}
		return err
	}
	if problems := staticProblems(module, filepath.Dir(module), limits); problems != nil {
		return problems
	}
	return err
}

// loadReward loads the one module that path stands for.
func (h *Host) loadReward(ctx context.Context, cfg sandbox.Config, path string) (*judges, error) {
	module, err := findModule(path)
	if err != nil {
		return nil, err
	}
	return h.loadRewards(ctx, cfg, []config.Reward{{Module: module, Weight: 1}})
}
