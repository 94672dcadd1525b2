package rewardcmd

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/asking"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Named is a reward as named on the command line: path or path:function, and the parameters of
// --with.
type Named struct {
	Path     string // path of a file or folder
	Function string
	With     map[string]any
	Batch    string // how many trajectories each call gets, as in --batch
	Answers  string // file that answers its questions to a language model, as in --answers
	// Otherwise is the reward that is asked if this one has no score; nil if there is none.
	Otherwise *Named
}

// Name parses the arguments of a command line.
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

// Part returns the reward as a part of a configuration.
func (n Named) Part() merit.Reward {
	ref := sandbox.Reference{Path: n.Path, Function: n.Function}
	part := merit.Reward{Module: ref.String(), With: n.With, Batch: n.Batch, Weight: 1}
	if file := n.answers(); file != "" {
		ask := asking.DefaultConfig()
		ask.Answers = file
		part.Ask = &ask
	}
	if n.Otherwise != nil {
		next := n.Otherwise.Part()
		part.Otherwise = &next
	}
	return part
}

// find replaces paths of folders by those of the modules in them.
func (n *Named) find() (err error) {
	if n.Path, err = findModule(n.Path); err != nil || n.Otherwise == nil {
		return err
	}
	next := *n.Otherwise
	n.Otherwise = &next
	return next.find()
}

// answersFile is the file in a reward's folder that answers its questions by default.
const answersFile = "fixtures/model.json"

// answers returns the file that answers instead of a model; empty if there is none.
func (n Named) answers() string {
	file := filepath.Join(folderOf(n.Path), answersFile)
	if _, err := os.Stat(file); n.Answers != "" || err != nil {
		return n.Answers
	}
	return file
}

// Config returns a configuration with only the reward and a sandbox.
func (n Named) Config(c sandbox.Config) (_ *merit.Config, err error) {
	if err := n.find(); err != nil {
		return nil, err
	}
	cfg := merit.DefaultConfig()
	cfg.Sandbox, cfg.Rewards = c, []merit.Reward{n.Part()}
	return cfg, nil
}

// Find returns the reward as a reference for the sandbox; for the folder of a module, it
// refers to the module.
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

// Parameters are the flags of commands that load a script.
type Parameters struct {
	With string `flag:"with" usage:"parameters of a script as a JSON object: '{\"tolerance\": 0.1}'"`
}

// Script are the flags of commands that score with a script.
type Script struct {
	Parameters
	Answers string `flag:"answers" usage:"a JSON file that answers what the reward asks a language model (default: fixtures/model.json in the reward's folder)"`
	Batch   string `flag:"batch" usage:"how many trajectories a script that takes lists gets in one call: group, or a number of consecutive ones"`
}

// named returns the reward in the arguments, with the values of the flags.
func (s Script) named(args []string) (Named, error) {
	n, err := Name(target(args), s.With)
	n.Batch, n.Answers = s.Batch, s.Answers
	return n, err
}
