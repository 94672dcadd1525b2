package host

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/backoff"
	"github.com/merit-rl/merit/internal/wire"
)

// PolicyConfig says which policy's plug-in to start and how.
type PolicyConfig struct {
	Start `yaml:",inline"`
	// ConfigureTimeout bounds the building of the policy: a model is loaded, an
	// engine is asked for one.
	ConfigureTimeout time.Duration `yaml:"configure_timeout" json:"configure_timeout" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 10m is enough for most plug-ins"`
	// LearnTimeout bounds each update, and each publishing, saving and loading
	// of weights; 0 = as long as it takes.
	LearnTimeout time.Duration `yaml:"learn_timeout" json:"learn_timeout" jsonschema:"minimum=0" hint:"use a positive duration, or 0 for none"`
	// Restarts says how often a process that dies is started again while it
	// answers nothing.
	Restarts backoff.Config `yaml:"restarts" json:"restarts"`

	// Seed decides the initial weights.
	Seed rl.Seed `yaml:"-" json:"-"`
	// Actions, FeatureShape and Tools are those of the environment, as in
	// env.Spec.
	Actions      []string        `yaml:"-" json:"-"`
	FeatureShape []int           `yaml:"-" json:"-"`
	Tools        json.RawMessage `yaml:"-" json:"-"`
	// Learn says that Learn will be called, Updates how often; 0 = not known.
	Learn   bool `yaml:"-" json:"-"`
	Updates int  `yaml:"-" json:"-"`
}

// DefaultPolicyConfig returns the settings of a run that says nothing.
func DefaultPolicyConfig() PolicyConfig {
	return PolicyConfig{
		// Python on a busy machine needs its minute.
		Start:            Start{StartTimeout: time.Minute, Limits: Limits{Memory: 16 << 30, Files: 4096, Output: 1 << 20}},
		ConfigureTimeout: 10 * time.Minute, LearnTimeout: time.Hour, Restarts: backoff.Default(),
	}
}

// Validate returns everything that is wrong with c, variables that are not set
// among it.
func (c PolicyConfig) Validate() []error { return fault.Validate(&c) }

// launch is how the plug-in is started, or what is wrong with c.
func (c PolicyConfig) launch() (*launch, error) {
	return c.Start.launch(c.StartTimeout), errors.Join(c.Validate()...)
}

// configuration is what the policy is asked for.
func (c PolicyConfig) configuration() wire.PolicyConfiguration {
	return wire.PolicyConfiguration{
		Options: c.Options, Seed: c.Seed, Actions: c.Actions, FeatureShape: c.FeatureShape, Tools: c.Tools,
		Learn: c.Learn, Updates: c.Updates,
	}
}
