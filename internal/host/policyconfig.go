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

// PolicyConfig selects the plug-in of a policy and how to start it.
type PolicyConfig struct {
	Start `yaml:",inline"`
	// ConfigureTimeout bounds the configuration of the policy, which may load a model
	// or wait for an engine.
	ConfigureTimeout time.Duration `yaml:"configure_timeout" json:"configure_timeout" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 10m is enough for most plug-ins"`
	// LearnTimeout bounds each update, and each publish, save and load of weights; 0 =
	// no limit.
	LearnTimeout time.Duration `yaml:"learn_timeout" json:"learn_timeout" jsonschema:"minimum=0" hint:"use a positive duration, or 0 for none"`
	// Restarts limits how often Merit restarts a process that keeps dying without
	// answering.
	Restarts backoff.Config `yaml:"restarts" json:"restarts"`

	// Seed determines the initial weights.
	Seed rl.Seed `yaml:"-" json:"-"`
	// Actions, FeatureShape and Tools are those of the environment, as in
	// env.Spec.
	Actions      []string        `yaml:"-" json:"-"`
	FeatureShape []int           `yaml:"-" json:"-"`
	Tools        json.RawMessage `yaml:"-" json:"-"`
	// Learn says that Learn will be called, and Updates how often; 0 = unknown.
	Learn   bool `yaml:"-" json:"-"`
	Updates int  `yaml:"-" json:"-"`
}

// DefaultPolicyConfig returns the default settings.
func DefaultPolicyConfig() PolicyConfig {
	return PolicyConfig{
		// Python needs up to a minute to start on a busy machine.
		Start:            Start{StartTimeout: time.Minute, Limits: Limits{Memory: 16 << 30, Files: 4096, Output: 1 << 20}},
		ConfigureTimeout: 10 * time.Minute, LearnTimeout: time.Hour, Restarts: backoff.Default(),
	}
}

// Validate returns all problems of c, including variables that are not set.
func (c PolicyConfig) Validate() []error { return fault.Validate(&c) }

// launch returns how to start the plug-in, or the problems of c.
func (c PolicyConfig) launch() (*launch, error) {
	return c.Start.launch(c.StartTimeout), errors.Join(c.Validate()...)
}

// configuration returns what the policy is configured with.
func (c PolicyConfig) configuration() wire.PolicyConfiguration {
	return wire.PolicyConfiguration{
		Options: c.Options, Seed: c.Seed, Actions: c.Actions, FeatureShape: c.FeatureShape, Tools: c.Tools,
		Learn: c.Learn, Updates: c.Updates,
	}
}
