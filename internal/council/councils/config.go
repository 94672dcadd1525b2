// Package councils sets up councils: agents from plug-ins and scripts, tasks from a file,
// rewards in the sandbox, spans for a store. The command only parses flags and calls it.
package councils

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/backoff"
	"github.com/merit-rl/merit/internal/council"
	"github.com/merit-rl/merit/internal/data/tasks"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Config is the configuration of councils.
type Config struct {
	// Seed determines all randomness.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Tasks are the questions to decide.
	Tasks Tasks `yaml:"tasks" json:"tasks"`
	// Council configures how the members decide, and how credit is assigned.
	Council council.Config `yaml:"council" json:"council"`
	// Members are the agents, 2 to 26.
	Members []Member `yaml:"members" json:"members"`
	// Plugins configures which plug-ins may run.
	Plugins merit.Plugins `yaml:"plugins" json:"plugins"`
	// Rewards are the parts of the reward for answers; without any, nothing is scored. None
	// may compare the members of a group.
	Rewards []merit.Reward `yaml:"rewards" json:"rewards"`
	// Sandbox limits the resources of a reward.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`

	// Places records where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// Tasks configures a file of tasks: JSON Lines, Parquet, CSV or TSV.
type Tasks struct {
	// File is the file with the tasks.
	File string `yaml:"file" json:"file"`
	// Map names the columns of the fields of a task, where they differ from the field names.
	Map tasks.Map `yaml:"map" json:"map"`
	// Limit is the largest number of tasks; 0 = all.
	Limit int `yaml:"limit" json:"limit" jsonschema:"minimum=0"`
	// Repeat is how often each task is decided, with different seeds. The conversations of one
	// agent about a task then form a group for comparison.
	Repeat int `yaml:"repeat" json:"repeat" jsonschema:"minimum=1,maximum=100000"`
}

// Member is an agent: a plug-in or a script.
type Member struct {
	// Name is the agent's name in votes and traces.
	Name string `yaml:"name" json:"name"`
	// System is the agent's system message.
	System string `yaml:"system" json:"system"`
	// Policy is the plug-in that decides for the agent.
	Policy *Plugin `yaml:"policy,omitempty" json:"policy,omitempty"`
	// Script contains the agent's answers, instead of a plug-in.
	Script *council.Script `yaml:"script,omitempty" json:"script,omitempty"`
}

// Plugin is a policy in a separate process, as in a training configuration.
type Plugin struct {
	host.Program `yaml:",inline"`
	// Options are the plug-in's options. A string that begins with ./ or ../ is a path
	// relative to the configuration file.
	Options map[string]any `yaml:"options" json:"options"`
	// StartTimeout is the time limit for starting the process, up to the handshake.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
	// ConfigureTimeout is the time limit for creating the policy.
	ConfigureTimeout time.Duration `yaml:"configure_timeout" json:"configure_timeout"`
	// Limits are the limits of the process; they are enforced on Linux.
	Limits host.Limits `yaml:"limits" json:"limits"`
	// Restarts configures how often a process is restarted if it dies without answering.
	Restarts backoff.Config `yaml:"restarts" json:"restarts"`
}

// SetDefaults sets the defaults of a section before it is read.
func (p *Plugin) SetDefaults() {
	h := host.DefaultPolicyConfig()
	*p = Plugin{StartTimeout: h.StartTimeout, ConfigureTimeout: h.ConfigureTimeout, Limits: h.Limits, Restarts: h.Restarts}
}

// host returns the configuration for internal/host, except for the resolved Path.
func (p *Plugin) host() (host.PolicyConfig, error) {
	options := []byte("{}")
	var err error
	if p.Options != nil {
		options, err = json.Marshal(p.Options)
	}
	h := host.DefaultPolicyConfig()
	h.Program, h.Path, h.Options = p.Program, p.Plugin, options
	h.StartTimeout, h.ConfigureTimeout, h.Limits, h.Restarts = p.StartTimeout, p.ConfigureTimeout, p.Limits, p.Restarts
	return h, err
}

// DefaultConfig returns the defaults, without tasks and members.
func DefaultConfig() *Config {
	return &Config{Seed: 1, Tasks: Tasks{Repeat: 1}, Council: council.DefaultConfig(), Sandbox: sandbox.DefaultConfig()}
}

// Schema returns the JSON Schema of the configuration of a council, for editors.
func Schema() ([]byte, error) { return config.Schema("Merit council", DefaultConfig()) }

// Load reads the configuration at path, applies overrides of the form key.path=value, and
// checks it; the error joins all problems. Relative paths in the file become relative to the
// working directory.
func Load(path string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Load(c, path, overrides...)
	return c, err
}

// Validate returns every problem of c, each a *fault.Error whose Where is a key path.
func (c *Config) Validate() []error {
	p := fault.Validate(c)
	if c.Tasks.File == "" {
		p.Missing("tasks.file", "no file of tasks is set", "name a file of tasks: rows with prompt, and ground_truth for the reward")
	}
	names := make([]string, len(c.Members))
	for i, m := range c.Members {
		names[i] = m.Name
	}
	p.Under("members", council.CheckNames(names))
	for i, r := range c.Rewards {
		for k, part := range r.Chain() {
			if !part.Environment {
				continue
			}
			p.Invalid(fmt.Sprintf("rewards[%d]%s.environment", i, strings.Repeat(".otherwise", k)), "a council has no environment", "name a module or a judge")
		}
	}
	return p
}

// Validate returns every problem of m, with key paths relative to it.
func (m Member) Validate() []error {
	p := fault.Validate(&m)
	switch {
	case m.Policy == nil && m.Script == nil:
		p.Missing("policy", "this agent has neither a policy nor a script", "name a plug-in: policy: {plugin: openai, options: {…}}, or add a script")
	case m.Policy != nil && m.Script != nil:
		p.Invalid("script", "is set in addition to a policy", "keep one of policy and script")
	}
	return p
}

// Validate returns every problem of p, with key paths relative to it.
func (p *Plugin) Validate() []error {
	h, err := p.host()
	if err != nil {
		var problems fault.Problems
		problems.Invalid("options", err.Error(), "use text, numbers, lists and sections with text keys")
		return problems
	}
	return h.Validate()
}

// EachPath replaces every path in c with the result of replace.
func (c *Config) EachPath(replace func(string) string) {
	for _, path := range []*string{&c.Tasks.File, &c.Sandbox.CacheDir} {
		if *path != "" {
			*path = replace(*path)
		}
	}
	for i := range c.Rewards {
		c.Rewards[i].EachPath(replace)
	}
	for _, m := range c.Members {
		if m.Policy != nil {
			merit.EachPluginPath(&m.Policy.Plugin, &m.Policy.Options, replace)
		}
	}
}
