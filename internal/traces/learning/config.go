package learning

import (
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
)

// Method says how a policy learns from decisions that were not its own.
type Method string

// The closed set of methods.
const (
	// Importance weighs a decision by how much likelier it is now than when it
	// was made, at most Config.MaxRatio, and lets the surrogate clip against the
	// policy as it stands before the update (decoupled PPO, arXiv 2110.00641). It
	// needs the log-probability of every decision that is learnt from.
	Importance Method = "importance"
	// Clone imitates the decisions, each weighted by exp(advantage ÷
	// temperature), at most Config.MaxRatio (advantage-weighted regression, arXiv
	// 1910.00177). It needs no log-probability.
	Clone Method = "clone"
)

// All as a Config.Query chooses every trace.
const All = "all"

// Config is the traces section: what is learnt from instead of being played.
type Config struct {
	// Query chooses the traces, in the words of merit traces list, such as
	// "agent=planner since=7d"; all is every trace. Empty trains in an environment.
	Query string `yaml:"query" json:"query"`
	// Agents are those whose calls are learnt from; empty is all of them.
	Agents []string `yaml:"agents" json:"agents"`
	// Choices are the answers among which the embedded network chooses; empty is
	// what the calls were offered (guided_choice, structured_outputs.choice, or
	// the enum of a response_format).
	Choices []string `yaml:"choices" json:"choices"`
	// Method is importance, which corrects for who decided then, or clone, which
	// imitates what did better than its group and needs no log-probabilities.
	Method Method `yaml:"method" json:"method" jsonschema:"enum=importance,enum=clone"`
	// MaxRatio bounds the weight that importance or clone gives to a decision.
	MaxRatio float64 `yaml:"max_ratio" json:"max_ratio" jsonschema:"minimum=1,maximum=1e6" hint:"use a number from 1 to a million"`
	// Temperature of clone, in root mean squares of the batch's advantages.
	Temperature float64 `yaml:"temperature" json:"temperature" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, at most a million"`
	// HeldOut is the share of tasks that are not learnt from: one half decides
	// the best checkpoint, the other one is for the final table. A task keeps its
	// place when traces are added.
	HeldOut float64 `yaml:"held_out" json:"held_out" jsonschema:"exclusiveMinimum=0,maximum=0.9" hint:"use a share above 0, at most 0.9; 0.3 is usual"`
}

// DefaultConfig trains from no traces, and else by importance.
func DefaultConfig() Config {
	return Config{Method: Importance, MaxRatio: 5, Temperature: 1, HeldOut: 0.3}
}

// SetDefaults is called before the section is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

// Validate returns every problem of c, with key paths relative to the section.
// What the words of Query mean is decided when it is asked.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	for i, name := range c.Choices {
		p.Check(name != "", fmt.Sprintf("choices[%d]", i), name, "write what the model answers")
		p.Check(slices.Index(c.Choices, name) == i, fmt.Sprintf("choices[%d]", i), name, "name each choice once")
	}
	p.Check(len(c.Choices) != 1, "choices", c.Choices, "name two or more, or none for those that were offered")
	return p
}
