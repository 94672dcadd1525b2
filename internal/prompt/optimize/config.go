// Package optimize assembles a search for a better prompt: tasks from files,
// models behind APIs, rewards in the sandbox, and a folder that a stopped search
// goes on from. The command's verb is flags and a call of it.
package optimize

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/prompt"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Config is the configuration of a search.
type Config struct {
	// Seed is what all randomness of the search is derived from, the seeds of
	// requests among it.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Prompt is the prompt that the search starts from.
	Prompt string `yaml:"prompt" json:"prompt"`
	// PromptFile is a file with the prompt, relative to the configuration file, in
	// the place of prompt.
	PromptFile string `yaml:"prompt_file" json:"prompt_file"`
	// Tasks are what the prompt is for.
	Tasks Tasks `yaml:"tasks" json:"tasks"`
	// Rewards are the parts of the reward; their weighted scores add up. None may
	// compare the members of a group: candidates are played at different times.
	Rewards []merit.Reward `yaml:"rewards" json:"rewards"`
	// Sandbox bounds what a reward may use.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`
	// Model is the model that the prompt is for.
	Model Model `yaml:"model" json:"model"`
	// Editor is the model that criticises and rewrites. Without it the one that
	// plays does, at temperature 1.
	Editor *Model `yaml:"editor,omitempty" json:"editor,omitempty"`
	// Search says how prompts are sought.
	Search prompt.Config `yaml:"search" json:"search"`
	// Budget is what the search may spend on all models together.
	Budget prompt.Budget `yaml:"budget" json:"budget"`

	// Places says where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// Model is a model behind a server, and how it is sampled.
type Model struct {
	prompt.Sampling `yaml:",inline"`
	// Server says which model it is, and how much it may be asked.
	Server chat.Config `yaml:"server" json:"server"`
}

// SetDefaults is called for a section that is there before it is read.
func (m *Model) SetDefaults() {
	*m = Model{Sampling: prompt.Sampling{Temperature: 1, MaxTokens: 1024}, Server: chat.DefaultConfig()}
}

// DefaultConfig returns the defaults. It lacks a prompt, tasks, a reward and a
// server.
func DefaultConfig() *Config {
	return &Config{
		Seed: 1, Tasks: Tasks{HeldOutShare: 0.5}, Sandbox: sandbox.DefaultConfig(), Search: prompt.DefaultConfig(),
		Model: Model{Sampling: prompt.Sampling{MaxTokens: 512}, Server: chat.DefaultConfig()},
	}
}

// Schema returns the JSON Schema of the configuration of a search, for editors.
func Schema() ([]byte, error) { return config.Schema("Merit prompt optimisation", DefaultConfig()) }

// Load reads the configuration at path, puts overrides of the form
// key.path=value over it, and checks it; the error joins every problem. Relative
// paths in the file become relative to the working directory.
func Load(path string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Load(c, path, overrides...)
	return c, err
}

// Validate returns every problem of c, each a *fault.Error whose Where is a key
// path.
func (c *Config) Validate() []error {
	p := fault.Validate(c)
	switch {
	case c.Prompt == "" && c.PromptFile == "":
		p.Missing("prompt", "there is no prompt to start from", "write it here, or name a file in prompt_file")
	case c.Prompt != "" && c.PromptFile != "":
		p.Invalid("prompt_file", "there are two prompts, a text and a file", "keep one of prompt and prompt_file")
	case c.Prompt != "":
		if why := c.Search.CheckText(strings.TrimSpace(c.Prompt)); why != "" {
			p.Invalid("prompt", "as a prompt, "+why, "correct it, or change search.place or search.max_prompt")
		}
	}
	if len(c.Rewards) == 0 {
		p.Missing("rewards", "there is no reward", "add at least one: rewards: [{module: reward.py}]")
	}
	for i, r := range c.Rewards {
		if r.Environment {
			p.Invalid(fmt.Sprintf("rewards[%d].environment", i), "there is no environment here", "name a module or a judge")
		}
	}
	return p
}

// EachPath replaces every path in c.
func (c *Config) EachPath(replace func(string) string) {
	paths := []*string{&c.PromptFile, &c.Tasks.Train, &c.Tasks.HeldOut, &c.Sandbox.CacheDir, &c.Model.Server.Cassettes.Dir}
	if c.Editor != nil {
		paths = append(paths, &c.Editor.Server.Cassettes.Dir)
	}
	for _, path := range paths {
		if *path != "" {
			*path = replace(*path)
		}
	}
	for i := range c.Rewards {
		c.Rewards[i].EachPath(replace)
	}
}

// start returns the prompt that the search starts from.
func (c *Config) start() (string, error) {
	if c.PromptFile == "" {
		return strings.TrimSpace(c.Prompt), nil
	}
	f, err := os.Open(c.PromptFile)
	if err != nil {
		return "", c.wrongPrompt(fault.Missing, "cannot be read", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(c.Search.MaxPrompt)+2))
	if err != nil {
		return "", c.wrongPrompt(fault.Invalid, "cannot be read", err)
	}
	start := strings.TrimSpace(string(text))
	if why := c.Search.CheckText(start); why != "" {
		return "", c.wrongPrompt(fault.Invalid, "as a prompt, "+why, nil)
	}
	return start, nil
}

func (c *Config) wrongPrompt(kind fault.Kind, what string, err error) error {
	return &fault.Error{Boundary: fault.Config, Kind: kind, Where: c.PromptFile, What: what, Err: err, Hint: "name a file of text in prompt_file"}
}
