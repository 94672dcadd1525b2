package rewardcmd

import (
	"encoding/json"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Named is a reward as a command line names it: path or path:function, and the
// parameters of --with.
type Named struct {
	Path     string // of a file or folder
	Function string
	With     map[string]any
	Batch    string // how many members come in one call, as --batch says it
}

// Name reads what a command line says.
func Name(reward, with string) (Named, error) {
	ref, err := sandbox.ParseReference(reward)
	if err != nil {
		return Named{}, err
	}
	fields, err := sandbox.ParseParameters(with)
	if err != nil {
		f := fault.As(err)
		f.Boundary, f.Where = fault.CLI, "--with"
		return Named{}, f
	}
	return Named{Path: ref.Path, Function: ref.Function, With: fields}, nil
}

// Part is the reward as one of a configuration.
func (n Named) Part() merit.Reward {
	ref := sandbox.Reference{Path: n.Path, Function: n.Function}
	return merit.Reward{Module: ref.String(), With: n.With, Batch: n.Batch, Weight: 1}
}

// Config is a configuration with the reward and a sandbox, and nothing else.
func (n Named) Config(c sandbox.Config) (_ *merit.Config, err error) {
	if n.Path, err = findModule(n.Path); err != nil {
		return nil, err
	}
	cfg := merit.DefaultConfig()
	cfg.Sandbox, cfg.Rewards = c, []merit.Reward{n.Part()}
	return cfg, nil
}

// Find is the reward as the sandbox names it: the module of a folder, if that is
// meant.
func (n Named) Find() (ref sandbox.Reference, err error) {
	ref.Function, ref.Batch = n.Function, n.Batch
	if len(n.With) > 0 {
		if ref.With, err = json.Marshal(n.With); err != nil {
			return ref, err
		}
	}
	ref.Path, err = findModule(n.Path)
	return ref, err
}

// Parameters are the flags of verbs that load a script.
type Parameters struct {
	With string `flag:"with" usage:"parameters of a script as a JSON object: '{\"tolerance\": 0.1}'"`
}

// Script are the flags of verbs that score by a script.
type Script struct {
	Parameters
	Batch string `flag:"batch" usage:"give a script that takes lists several trajectories in one call: group, or how many that follow each other"`
}

// named is the reward of the arguments, with what the flags say of it.
func (s Script) named(args []string) (Named, error) {
	n, err := Name(target(args), s.With)
	n.Batch = s.Batch
	return n, err
}
