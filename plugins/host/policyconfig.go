package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// PolicyConfig says which policy's plug-in to start and how.
type PolicyConfig struct {
	// Path is the plug-in's binary; Find turns a name into one.
	Path string `yaml:"path" json:"path"`
	// Args are the arguments of the binary.
	Args []string `yaml:"args,omitempty" json:"args,omitempty"`
	// Digest, if set, is the hexadecimal SHA-256 that the binary must have
	// at every start; see Digest.
	Digest string `yaml:"digest,omitempty" json:"digest,omitempty"`
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
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate returns everything that is wrong with c, variables that are not set
// among it.
func (c PolicyConfig) Validate() []error {
	var p fault.Problems
	positive(&p, "start_timeout", c.StartTimeout, "1m")
	positive(&p, "configure_timeout", c.ConfigureTimeout, "10m")
	p.Check(c.LearnTimeout >= 0, "learn_timeout", c.LearnTimeout, "use a positive duration, or 0 for none")
	validateLimits(&p, c.Limits)
	validateOptions(&p, c.Options)
	for i, name := range c.PassEnv {
		key := fmt.Sprintf("pass_env[%d]", i)
		switch {
		case !variableName.MatchString(name):
			p.Invalid(key, fmt.Sprintf("%q is no name of a variable", wire.Cut(name, 40)), "give the name only; its value stays in the environment")
		case c.getenv(name) == "":
			p.Missing(key, fmt.Sprintf("the variable %s is not set", name), "set it in the environment that merit is started in")
		}
	}
	return p
}

func (c PolicyConfig) getenv(name string) string {
	if c.Getenv == nil {
		return os.Getenv(name)
	}
	return c.Getenv(name)
}

// shortestSecret is how long a value must be to be hidden: shorter ones are
// words that stand everywhere.
const shortestSecret = 8

// launch is how the plug-in is started, or what is wrong with c.
func (c PolicyConfig) launch() (*launch, error) {
	if err := errors.Join(c.Validate()...); err != nil {
		return nil, err
	}
	l := &launch{
		path: c.Path, args: c.Args, digest: c.Digest, env: slices.Clone(c.Env),
		timeout: c.StartTimeout, describe: c.StartTimeout, limits: c.Limits, log: c.Log,
	}
	var hidden []string
	for _, name := range c.PassEnv {
		value := c.getenv(name)
		l.env = append(l.env, name+"="+value)
		if len(value) >= shortestSecret {
			hidden = append(hidden, value, "$"+name)
		}
	}
	if hidden != nil {
		l.secrets = strings.NewReplacer(hidden...)
	}
	return l, nil
}

// configuration is what the policy is asked for.
func (c PolicyConfig) configuration() wire.PolicyConfiguration {
	return wire.PolicyConfiguration{
		Options: c.Options, Seed: c.Seed, Actions: c.Actions, FeatureShape: c.FeatureShape, Tools: c.Tools,
		Learn: c.Learn, Updates: c.Updates,
	}
}
