package merit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/sandbox"
)

// Config is a whole configuration, each stage under its key.
type Config struct {
	// Seed is what all randomness of a run is derived from.
	Seed uint64 `yaml:"seed" json:"seed" jsonschema:"minimum=0"`
	// Environment is what is played.
	Environment Environment `yaml:"environment" json:"environment"`
	// Plugins says which plug-ins may run at all.
	Plugins Plugins `yaml:"plugins" json:"plugins"`
	// Rewards are the parts of the reward; their weighted scores add up.
	Rewards []Reward `yaml:"rewards" json:"rewards"`
	// Sandbox bounds what a reward may use.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`
	// Rollout says how episodes are collected.
	Rollout rollout.Config `yaml:"rollout" json:"rollout"`
	// Align says how strictly rewards are joined with steps.
	Align align.Config `yaml:"align" json:"align"`
	// Advantage chooses how credit is assigned.
	Advantage advantage.Config `yaml:"advantage" json:"advantage"`
	// Traces are what is learnt from in the place of an environment.
	Traces Section `yaml:"traces,omitempty" json:"traces,omitempty" section:"required"`
	// Policy is who acts and learns: a plug-in if one is named, else the embedded
	// network, which most of its keys lay out.
	Policy Policy `yaml:"policy" json:"policy"`
	// Learner says what differentiates the embedded network.
	Learner learn.Config `yaml:"learner" json:"learner"`
	// PPO says how the embedded network is updated.
	PPO learn.PPOConfig `yaml:"ppo" json:"ppo"`
	// Train says how long a run is, how it is judged and when it stops.
	Train train.Config `yaml:"train" json:"train"`
	// Evidence says what a policy must show before it takes another's place.
	Evidence evidence.Config `yaml:"evidence" json:"evidence"`
	// Save says which trajectories a run keeps.
	Save run.SaveConfig `yaml:"save" json:"save"`
	// Monitor says which red flags are raised over a run, and what they do.
	Monitor monitor.Config `yaml:"monitor" json:"monitor"`
	// Fleet says how a fleet of workers is used where there is one. It changes
	// nothing of what is written.
	Fleet Section `yaml:"fleet,omitempty" json:"fleet,omitempty" section:"required" resume:"free"`

	// Places says where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// Plugins says which plug-ins may run.
type Plugins struct {
	// Allow lists the digests, as sha256:…, of the plug-ins that may be started;
	// empty allows all. A list that holds for every run of a machine is the
	// file that $MERIT_PLUGINS_ALLOWED names.
	Allow []string `yaml:"allow" json:"allow"`
}

// Validate returns every entry that is not a digest.
func (p Plugins) Validate() []error {
	var problems fault.Problems
	for i, digest := range p.Allow {
		if err := disk.CheckDigest(digest); err != nil {
			problems.Invalid(fmt.Sprintf("allow[%d]", i), err.Error(), "write sha256: and 64 hexadecimal digits")
		}
	}
	return problems
}

// allowed is the list as plug-ins are held to it.
func (p Plugins) allowed() []string {
	if len(p.Allow) == 0 {
		return nil
	}
	return p.Allow
}

// Environment names the plug-in that plays and how it is run.
type Environment struct {
	host.Program `yaml:",inline"`
	// Options are the plug-in's own. A text in them that begins with ./ or ../
	// is a path, relative to the configuration file.
	Options map[string]any `yaml:"options" json:"options"`
	// Slots is how many episodes of one process step together.
	Slots int `yaml:"slots" json:"slots" jsonschema:"minimum=1,maximum=65536"`
	// StartTimeout bounds the start of a process up to the handshake, and each
	// of the two calls after it.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout" resume:"free" jsonschema:"exclusiveMinimum=0"`
	// BatchDeadline is how long a batch of steps may take.
	BatchDeadline time.Duration `yaml:"batch_deadline" json:"batch_deadline" resume:"free" jsonschema:"exclusiveMinimum=0"`
	// ResetDeadline is how long a batch with a reset in it may take.
	ResetDeadline time.Duration `yaml:"reset_deadline" json:"reset_deadline" resume:"free" jsonschema:"exclusiveMinimum=0"`
	// Limits bound the process; they are enforced on Linux.
	Limits host.Limits `yaml:"limits" json:"limits" resume:"free"`
}

// Reward is one part of the reward: a module, a judge or the environment.
type Reward struct {
	// Module is the path of a WASM file, of a script, or of a script's folder,
	// relative to the configuration file. Of a script with several rewards it
	// names one behind a colon: reward.py:score.
	Module string `yaml:"module,omitempty" json:"module,omitempty"`
	// With are parameters of a script: keyword arguments in Python, the second
	// argument in JavaScript. They win over columns of the same name.
	With map[string]any `yaml:"with,omitempty" json:"with,omitempty"`
	// Batch has one call of a script score several trajectories, where its function
	// takes lists: "group" gives it the members of a group, a number as many as
	// follow each other. Empty means what the script says of itself.
	Batch string `yaml:"batch,omitempty" json:"batch,omitempty"`
	// Rubric makes the reward a dual evaluation: the outputs of an episode are
	// judged by the rubric that an agent wrote and by the stakeholder's, and the
	// module gets both as its ground truth.
	Rubric RewardSection `yaml:"rubric,omitempty" json:"rubric,omitempty" section:"optional"`
	// Judge is a language model that scores in the place of a module.
	Judge RewardSection `yaml:"judge,omitempty" json:"judge,omitempty" section:"optional"`
	// Environment takes the environment's own reward in the place of a module's:
	// the sum over the steps is the score.
	Environment bool `yaml:"environment,omitempty" json:"environment,omitempty"`
	// Weight multiplies the score and step rewards.
	Weight float64 `yaml:"weight" json:"weight"`
	// Name stands in metrics and reasons; empty means the module's own.
	Name string `yaml:"name" json:"name"`
}

// Reference says which reward of which file it is; it is for modules only.
func (r Reward) Reference() (sandbox.Reference, error) {
	ref, err := sandbox.ParseReference(r.Module)
	ref.Batch = r.Batch
	if err != nil || len(r.With) == 0 {
		return ref, err
	}
	if ref.With, err = json.Marshal(r.With); err != nil {
		return ref, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, What: "the parameters (with) cannot be written as JSON", Err: err,
			Hint: "use texts, finite numbers, true, false, null, lists and maps",
		}
	}
	return ref, nil
}

// SetDefaults is called for each element of a list before it is read.
func (r *Reward) SetDefaults() { r.Weight = 1 }

// DefaultConfig returns the defaults of every stage. It lacks an environment and a
// reward.
func DefaultConfig() *Config {
	h := host.DefaultConfig()
	return &Config{
		Seed: 1,
		Environment: Environment{
			Slots: h.Slots, StartTimeout: h.StartTimeout, BatchDeadline: h.BatchDeadline,
			ResetDeadline: h.ResetDeadline, Limits: h.Limits,
		},
		Sandbox:   sandbox.DefaultConfig(),
		Rollout:   rollout.DefaultConfig(),
		Align:     align.DefaultConfig(),
		Advantage: advantage.Default(),
		Traces:    newSection[Section](keyTraces),
		Policy:    defaultPolicy(),
		Learner:   learn.DefaultConfig(),
		PPO:       learn.DefaultPPOConfig(),
		Train:     train.DefaultConfig(),
		Evidence:  evidence.Default(),
		Save:      run.DefaultSaveConfig(),
		Monitor:   monitor.Default(),
		Fleet:     newSection[Section](keyFleet),
	}
}

// Host returns what internal/host needs to start the environment for a split,
// but for Path, which is Plugin after a look-up, and Log.
func (e Environment) Host(split string) (host.Config, error) {
	text, err := optionsJSON(e.Options)
	return host.Config{
		Start: host.Start{Program: e.Program, Path: e.Plugin, Options: text, StartTimeout: e.StartTimeout, Limits: e.Limits},
		Split: split, Slots: e.Slots, BatchDeadline: e.BatchDeadline, ResetDeadline: e.ResetDeadline,
	}, err
}

// Validate returns every problem of e, with key paths relative to the section.
func (e Environment) Validate() []error {
	h, err := e.Host(train.SplitTrain)
	return validPlugin(h.Validate, err)
}

// validPlugin returns the problems of a plug-in, or why its options are no JSON.
func validPlugin(validate func() []error, options error) []error {
	if options == nil {
		return validate()
	}
	var p fault.Problems
	p.Invalid("options", options.Error(), "use text, numbers, lists and sections with text keys")
	return p
}

// optionsJSON gives a plug-in its options.
func optionsJSON(options map[string]any) (json.RawMessage, error) {
	if options == nil {
		options = map[string]any{}
	}
	return json.Marshal(options)
}

// Settings returns what the training loop needs of c.
func (c *Config) Settings() train.Settings {
	return train.Settings{
		Seed: c.Seed, Rollout: c.rollout(), Align: c.Align, Advantage: c.Advantage, Train: c.Train, Save: c.Save, Monitor: c.Monitor,
	}
}

// rollout returns how episodes are collected: a policy behind a plug-in is
// asked for every slot on its own.
func (c *Config) rollout() rollout.Config {
	r := c.Rollout
	if c.Policy.Plugin != "" && r.InFlight == 0 {
		r.InFlight = rollout.MaxInFlight
	}
	return r
}
