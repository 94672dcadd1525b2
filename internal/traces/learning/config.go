package learning

import (
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sdk/merit"
)

// Method is how a policy learns from decisions that another policy made.
type Method string

// The methods.
const (
	// Importance weights a decision by the ratio of its probability now to its
	// probability when it was made, at most Config.MaxRatio. The surrogate clips
	// against the policy before the update (decoupled PPO, arXiv 2110.00641). It
	// needs the log-probability of every decision.
	Importance Method = "importance"
	// Clone imitates the decisions, each weighted by exp(advantage ÷ temperature), at
	// most Config.MaxRatio (advantage-weighted regression, arXiv 1910.00177). It
	// needs no log-probabilities.
	Clone Method = "clone"
)

// All is the Config.Query that matches every trace.
const All = "all"

// Config is the traces section: recorded traces to learn from instead of playing.
type Config struct {
	// Query selects the traces, in the syntax of merit traces list, such as
	// "agent=planner since=7d"; all selects every trace. Empty trains in an environment.
	Query string `yaml:"query" json:"query"`
	// Agents lists the agents whose calls are learned from; empty means all.
	Agents []string `yaml:"agents" json:"agents"`
	// Choices lists the answers among which the embedded network chooses. If empty,
	// they are the answers that the calls offered (guided_choice,
	// structured_outputs.choice, or the enum of a response_format), or the actions of an
	// environment that has features.
	Choices []string `yaml:"choices" json:"choices"`
	// Method is importance, which corrects for the policy that made the decisions, or
	// clone, which imitates decisions that did better than their group.
	Method Method `yaml:"method" json:"method" jsonschema:"enum=importance,enum=clone"`
	// MaxRatio is the maximum weight that importance or clone gives to a decision.
	MaxRatio float64 `yaml:"max_ratio" json:"max_ratio" jsonschema:"minimum=1,maximum=1e6" hint:"use a number from 1 to a million"`
	// Temperature is used by clone, in root mean squares of the batch's advantages.
	Temperature float64 `yaml:"temperature" json:"temperature" jsonschema:"exclusiveMinimum=0,maximum=1e6" hint:"use a number above 0, at most a million"`
	// HeldOut is the share of tasks to hold out of training: half of them select the
	// best checkpoint, and half are for the final table. A task stays in its split
	// when traces are added.
	HeldOut float64 `yaml:"held_out" json:"held_out" jsonschema:"exclusiveMinimum=0,maximum=0.9" hint:"use a share above 0, at most 0.9; 0.3 is usual"`
	// SplitBy says what keeps tasks together when they are dealt to the splits: content
	// also keeps tasks whose first calls have the same input, apart from case and white
	// space, in one split; task goes by the name of the task alone.
	SplitBy string `yaml:"split_by" json:"split_by" jsonschema:"enum=content,enum=task"`
	// MinEffective is how many episodes of the trained policy the traces of the final test must
	// be worth (effective_episodes) to measure it. Below it, there is no estimate.
	MinEffective float64 `yaml:"min_effective" json:"min_effective" jsonschema:"minimum=1,maximum=1e6" hint:"use a number from 1 to a million; 5 is the default"`
}

// The values of Config.SplitBy.
const (
	splitByContent = "content"
	splitByTask    = "task"
)

// DefaultConfig returns a section without traces, with method importance.
func DefaultConfig() Config {
	return Config{Method: Importance, MaxRatio: 5, Temperature: 1, HeldOut: 0.3, SplitBy: splitByContent, MinEffective: 5}
}

// SetDefaults sets the defaults; it is called before the section is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

// Validate returns every problem of c, with key paths relative to the section. It
// does not parse Query.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	for i, name := range c.Choices {
		p.Check(name != "", fmt.Sprintf("choices[%d]", i), name, "write an answer of the model")
		p.Check(slices.Index(c.Choices, name) == i, fmt.Sprintf("choices[%d]", i), name, "list each choice once")
	}
	p.Check(len(c.Choices) != 1, "choices", c.Choices, "list two or more, or none to use the choices that the calls offered")
	return p
}

func init() { merit.RegisterTraces(new(Config)) }

// Of returns the traces section of a configuration.
func Of(c *merit.Config) *Config { return c.Traces.(*Config) }

// Chosen implements merit.TracesSection.
func (c *Config) Chosen() bool { return c.Query != "" }

// Suits implements merit.TracesSection.
func (c *Config) Suits(spec env.Spec, chooses bool) error {
	switch {
	case len(spec.FeatureShape) > 0 && !chooses:
		return wrong(fault.Invalid, "environment", "it returns features, but a language model learns from text",
			"set the environment's options so that it returns only text, or remove it: Merit then measures on held-out traces")
	case len(spec.FeatureShape) > 0 && !spec.Encodes:
		return unable(spec)
	case len(c.Choices) > 0 || !chooses:
		return fits(spec, c.Choices)
	}
	return nil
}

// fits checks that the actions of an environment are the choices of the traces.
func fits(spec env.Spec, choices []string) error {
	if slices.Equal(spec.Actions, choices) {
		return nil
	}
	hint := "set traces.choices to its actions, in its order"
	if len(spec.FeatureShape) > 0 {
		hint = "remove traces.choices: the environment's actions are the choices"
	}
	return wrong(fault.Invalid, "environment", fmt.Sprintf("its actions are %q, but the choices of the traces are %q", spec.Actions, choices), hint)
}
