package host

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/restart"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/wire"
)

// PolicyConfig says which policy's plug-in to start and how.
type PolicyConfig struct {
	// Path is that of the plug-in: a binary, a Python file, or a folder with a
	// manifest. Find turns a name into one.
	Path string `yaml:"path" json:"path"`
	// Args are arguments behind those of its own command.
	Args []string `yaml:"args,omitempty" json:"args,omitempty"`
	// Digest, if set, is the hexadecimal SHA-256 that the plug-in must have
	// at every start; see Digest.
	Digest string `yaml:"digest,omitempty" json:"digest,omitempty"`
	// Allow, if not nil, lists the digests, as sha256:…, of which it must have
	// one.
	Allow []string `yaml:"-" json:"-"`
	// Env is added to the few variables that a plug-in gets, as KEY=value.
	Env []string `yaml:"env,omitempty" json:"env,omitempty"`
	// PassEnv names variables of Merit's own environment that the plug-in
	// gets too: API keys, proxies. Each must be set. Their values are never
	// written anywhere.
	PassEnv []string `yaml:"pass_env,omitempty" json:"pass_env,omitempty"`
	// StartTimeout bounds the start up to the handshake; Describe has it once
	// more.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
	// ConfigureTimeout bounds the building of the policy: a model is loaded, an
	// engine is asked for one.
	ConfigureTimeout time.Duration `yaml:"configure_timeout" json:"configure_timeout"`
	// LearnTimeout bounds each update, and each publishing, saving and loading
	// of weights; 0 = as long as it takes.
	LearnTimeout time.Duration `yaml:"learn_timeout" json:"learn_timeout"`
	// Limits bound the process.
	Limits Limits `yaml:"limits" json:"limits"`
	// Restarts says how often a process that dies is started again while it
	// answers nothing.
	Restarts restart.Config `yaml:"restarts" json:"restarts"`

	// Options is the JSON object for the plug-in's own options.
	Options json.RawMessage `yaml:"-" json:"-"`
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
	// Log receives what the plug-in prints (debug) and that it prints too
	// much (warn); nil discards both.
	Log *slog.Logger `yaml:"-" json:"-"`
	// Getenv reads Merit's own environment for PassEnv; nil is os.Getenv.
	Getenv func(string) string `yaml:"-" json:"-"`
}

// DefaultPolicyConfig returns the settings of a run that says nothing.
func DefaultPolicyConfig() PolicyConfig {
	return PolicyConfig{
		StartTimeout:     time.Minute, // Python on a busy machine
		ConfigureTimeout: 10 * time.Minute,
		LearnTimeout:     time.Hour,
		Limits:           Limits{Memory: 16 << 30, Files: 4096, Output: 1 << 20},
		Restarts:         restart.Default(),
	}
}

// Validate returns everything that is wrong with c, variables that are not set
// among it.
func (c PolicyConfig) Validate() []error {
	var p fault.Problems
	positive(&p, "start_timeout", c.StartTimeout, "1m")
	positive(&p, "configure_timeout", c.ConfigureTimeout, "10m")
	p.Check(c.LearnTimeout >= 0, "learn_timeout", c.LearnTimeout, "use a positive duration, or 0 for none")
	validateLimits(&p, c.Limits)
	for _, err := range c.Restarts.Validate() {
		f := fault.As(err)
		f.Where = "restarts." + f.Where
		p = append(p, f)
	}
	validateOptions(&p, c.Options)
	variables{c.PassEnv, c.Getenv}.validate(&p)
	return p
}

// launch is how the plug-in is started, or what is wrong with c.
func (c PolicyConfig) launch() (*launch, error) {
	if err := errors.Join(c.Validate()...); err != nil {
		return nil, err
	}
	l := &launch{
		path: c.Path, args: c.Args, expect: disk.Expectation{Digest: c.Digest, Allow: c.Allow}, env: slices.Clone(c.Env),
		timeout: c.StartTimeout, describe: c.StartTimeout, limits: c.Limits, log: c.Log,
	}
	l.pass(variables{c.PassEnv, c.Getenv})
	return l, nil
}

// configuration is what the policy is asked for.
func (c PolicyConfig) configuration() wire.PolicyConfiguration {
	return wire.PolicyConfiguration{
		Options: c.Options, Seed: c.Seed, Actions: c.Actions, FeatureShape: c.FeatureShape, Tools: c.Tools,
		Learn: c.Learn, Updates: c.Updates,
	}
}
