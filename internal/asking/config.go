package asking

import (
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/models/chat"
)

// Config grants a reward the use of a language model while it scores, within limits. The
// limits of a run are those of server.budget.
type Config struct {
	// Server configures the language model that answers, with limits on requests. Its budget
	// limits the tokens and the cost of a run.
	Server *chat.Config `yaml:"server,omitempty" json:"server,omitempty"`
	// Answers is a JSON file that answers instead of a model, for tests, relative to the
	// configuration file.
	Answers string `yaml:"answers,omitempty" json:"answers,omitempty"`
	// Calls is how many questions an evaluation may ask: for a trajectory, or for all
	// trajectories that are scored in one call.
	Calls int `yaml:"calls" json:"calls" jsonschema:"minimum=1,maximum=100000"`
	// Tokens limits the tokens of the questions and answers of an evaluation, estimated at
	// four bytes per token, so that the limit does not depend on how a server counts. 0 sets no
	// limit.
	Tokens int64 `yaml:"tokens" json:"tokens" jsonschema:"minimum=0"`
	// Cost limits the cost of an evaluation, computed from the same estimate and the prices of
	// the model; 0 sets no limit.
	Cost float64 `yaml:"cost" json:"cost" jsonschema:"minimum=0,maximum=1e12"`
	// RunCalls limits the questions that reach the model in a run, also before it was resumed;
	// 0 sets no limit. A worker of a fleet counts its own since it loaded the job.
	RunCalls int `yaml:"run_calls" json:"run_calls" jsonschema:"minimum=0"`
	// MaxTokens is the largest number of tokens in an answer.
	MaxTokens int `yaml:"max_tokens" json:"max_tokens" jsonschema:"minimum=1,maximum=1048576"`
	// MaxChars is the largest size of a question, in bytes.
	MaxChars int `yaml:"max_chars" json:"max_chars" jsonschema:"minimum=100,maximum=67108864"`
	// Seed determines the sampling, together with the seed of a question.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Temperature is the sampling temperature; 0 takes the most likely answer.
	Temperature float64 `yaml:"temperature" json:"temperature" jsonschema:"minimum=0,maximum=2"`
	// Timeout is the time limit for one question, including retries. The clock of
	// sandbox.wall_clock stands still meanwhile.
	Timeout time.Duration `yaml:"timeout" json:"timeout" jsonschema:"exclusiveMinimum=0" hint:"use a duration above 0, such as 2m"`
	// Cache is a folder that keeps answers between runs. A run also keeps them in its own
	// directory.
	Cache string `yaml:"cache" json:"cache"`

	recorded Record // answers instead of the model, to repeat a run
}

// DefaultConfig has limits, and no model.
func DefaultConfig() Config {
	return Config{Calls: 8, Tokens: 50_000, MaxTokens: 1024, MaxChars: 100_000, Seed: 1, Timeout: 2 * time.Minute}
}

// SetDefaults sets the defaults of a section before it is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	switch {
	case c.Server == nil && c.Answers == "":
		p.Missing("server", "no model is granted", "set server.url and server.model, or answers to a file that answers instead of a model")
	case c.Server != nil && c.Answers != "":
		p.Invalid("answers", "both server and answers are set", "keep one of server and answers")
	}
	if c.Cost > 0 && c.Server != nil && !c.price().Set() {
		p.Missing("cost", "a limit of cost needs prices", "list the model in prices.models, or set server.budget.input_price and server.budget.output_price, per million tokens")
	}
	return p
}

// EachPath replaces every path in c with the result of replace.
func (c *Config) EachPath(replace func(string) string) {
	paths := []*string{&c.Answers, &c.Cache}
	if c.Server != nil {
		server := *c.Server // others may share it
		c.Server = &server
		paths = append(paths, &server.Cassettes.Dir)
	}
	for _, path := range paths {
		if *path != "" {
			*path = replace(*path)
		}
	}
}

// UsePrices implements merit.PricedSection.
func (c *Config) UsePrices(p cost.Prices) {
	if c.Server != nil {
		server := *c.Server // others may share it
		server.Prices, c.Server = p, &server
	}
}

// price returns what a million tokens cost.
func (c *Config) price() cost.Price {
	if c.Server == nil {
		return cost.Price{}
	}
	return c.Server.Price()
}
