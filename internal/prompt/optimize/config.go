// Package optimize sets up a search for a better prompt: tasks from files, models behind APIs,
// rewards in the sandbox, and a folder from which a stopped search resumes. The command only
// parses flags and calls it.
package optimize

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/prompt"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Config is the configuration of a search.
type Config struct {
	// Seed determines all randomness of the search, including the seeds of requests.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Prompt is the prompt that the search starts from.
	Prompt string `yaml:"prompt" json:"prompt"`
	// PromptFile is a file with the prompt, relative to the configuration file. Set it instead
	// of prompt.
	PromptFile string `yaml:"prompt_file" json:"prompt_file"`
	// Tasks are the tasks that the prompt should solve.
	Tasks Tasks `yaml:"tasks" json:"tasks"`
	// Rewards are the parts of the reward; their weighted scores are added. None may compare
	// the members of a group, because candidates play at different times.
	Rewards []merit.Reward `yaml:"rewards" json:"rewards"`
	// Sandbox limits the resources of a reward.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`
	// Model is the model that the prompt is for.
	Model Model `yaml:"model" json:"model"`
	// Editor is the model that criticizes and rewrites. The default is model, at temperature
	// 1.
	Editor *Model `yaml:"editor,omitempty" json:"editor,omitempty"`
	// Search configures the search.
	Search prompt.Config `yaml:"search" json:"search"`
	// Budget is what the search may spend on all models together.
	Budget prompt.Budget `yaml:"budget" json:"budget"`
	// Prices lists what the tokens of language models cost. The model, the editor, judges and
	// rubrics use them, unless their own budget has prices.
	Prices cost.Prices `yaml:"prices" json:"prices"`

	// Places records where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// Model is a model behind a server, with its sampling.
type Model struct {
	prompt.Sampling `yaml:",inline"`
	// Server configures the server and the model, with limits on requests.
	Server chat.Config `yaml:"server" json:"server"`
}

// SetDefaults sets the defaults of a section before it is read.
func (m *Model) SetDefaults() {
	*m = Model{Sampling: prompt.Sampling{Temperature: 1, MaxTokens: 1024}, Server: chat.DefaultConfig()}
}

// DefaultConfig returns the defaults, without a prompt, tasks, a reward and a server.
func DefaultConfig() *Config {
	return &Config{
		Seed: 1, Tasks: Tasks{HeldOutShare: 0.5}, Sandbox: sandbox.DefaultConfig(), Search: prompt.DefaultConfig(),
		Model: Model{Sampling: prompt.Sampling{MaxTokens: 512}, Server: chat.DefaultConfig()}, Prices: cost.DefaultPrices(),
	}
}

// Schema returns the JSON Schema of the configuration of a search, for editors.
func Schema() ([]byte, error) { return config.Schema("Merit prompt optimization", DefaultConfig()) }

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
	c.usePrices() // limits of cost are checked against them
	p := fault.Validate(c)
	switch {
	case c.Prompt == "" && c.PromptFile == "":
		p.Missing("prompt", "no prompt is set", "set it to the prompt to start from, or name a file in prompt_file")
	case c.Prompt != "" && c.PromptFile != "":
		p.Invalid("prompt_file", "both prompt and prompt_file are set", "keep one of prompt and prompt_file")
	case c.Prompt != "":
		if why := c.Search.CheckText(strings.TrimSpace(c.Prompt)); why != "" {
			p.Invalid("prompt", "as a prompt, "+why, "correct it, or change search.place or search.max_prompt")
		}
	}
	if len(c.Rewards) == 0 {
		p.Missing("rewards", "no reward is set", "add at least one: rewards: [{module: reward.py}]")
	}
	for i, r := range c.Rewards {
		for k, part := range r.Chain() {
			if !part.Environment {
				continue
			}
			p.Invalid(fmt.Sprintf("rewards[%d]%s.environment", i, strings.Repeat(".otherwise", k)), "a search has no environment", "name a module or a judge")
		}
	}
	return p
}

// usePrices gives every model the prices of c.
func (c *Config) usePrices() {
	c.Model.Server.Prices = c.Prices
	if c.Editor != nil {
		c.Editor.Server.Prices = c.Prices
	}
	for _, r := range c.Rewards {
		for _, part := range r.Chain() {
			for _, section := range []merit.Section{part.Judge, part.Rubric, part.Ask} {
				if models, ok := section.(merit.PricedSection); ok {
					models.UsePrices(c.Prices)
				}
			}
		}
	}
}

// EachPath replaces every path in c with the result of replace.
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
	return &fault.Error{Boundary: fault.Config, Kind: kind, Where: c.PromptFile, What: what, Err: err, Hint: "name a text file in prompt_file"}
}
