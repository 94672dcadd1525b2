package rewards

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox"
)

// Loaded are rewards and the sandbox that runs them.
type Loaded struct {
	Parts   []reward.Weighted
	Modules []*sandbox.Module // the scorers of Parts
	runtime *sandbox.Runtime
}

// Close frees the sandbox. What it could not free does not matter any more.
func (j *Loaded) Close(ctx context.Context) { _ = j.runtime.Close(context.WithoutCancel(ctx)) }

// Group reports whether a part compares the members of a group.
func (j *Loaded) Group() bool {
	for _, p := range j.Parts {
		if p.Scorer.Info().Group {
			return true
		}
	}
	return false
}

// LoadAll loads every module, or says what is wrong with each.
func LoadAll(ctx context.Context, h *console.Host, cfg sandbox.Config, rewards []config.Reward) (*Loaded, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return nil, err
	}
	if cfg.CacheDir == "" {
		cfg.CacheDir = h.CacheFolder()
	}
	runtime, err := sandbox.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	j := &Loaded{runtime: runtime}
	var problems []error
	for _, r := range rewards {
		m, err := runtime.LoadFile(ctx, r.Module)
		if err != nil {
			problems = append(problems, teach(r.Module, cfg.Limits, err))
			continue
		}
		j.Modules = append(j.Modules, m)
		j.Parts = append(j.Parts, reward.Weighted{Scorer: m, Weight: r.Weight, Name: r.Name})
	}
	if len(problems) > 0 {
		j.Close(ctx)
		return nil, errors.Join(problems...)
	}
	return j, nil
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

// Load loads the one module that path stands for.
func Load(ctx context.Context, h *console.Host, cfg sandbox.Config, path string) (*Loaded, error) {
	module, err := findModule(path)
	if err != nil {
		return nil, err
	}
	return LoadAll(ctx, h, cfg, []config.Reward{{Module: module, Weight: 1}})
}
