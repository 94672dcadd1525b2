// Package rollout collects intact groups of trajectories: N members from one
// identical start, played by one policy in vectorized environments, with bounded
// parallelism.
//
// The result depends on (seed, group, member, step) and the policy alone. The
// number of workers and slots, the order of arrival, and crashes that a retry
// survives do not change it.
package rollout

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/backoff"
)

// AnchorSource names what identifies a state for step groups.
type AnchorSource string

// The sources of an anchor.
const (
	AnchorObservation AnchorSource = "observation" // the environment's raw observation
	AnchorText        AnchorSource = "text"        // the observation as a reader sees it
	AnchorMessages    AnchorSource = "messages"    // the whole conversation up to the decision
)

// MaxInFlight is the largest Config.InFlight: in practice no bound.
const MaxInFlight = 1 << 16

// Config says how episodes are collected.
type Config struct {
	// Groups is the number of starts per collection. All members of a group begin
	// from the same start.
	Groups int `yaml:"groups" json:"groups" jsonschema:"minimum=1"`
	// Members is the number of episodes in each group.
	Members int `yaml:"members" json:"members" jsonschema:"minimum=1"`
	// MaxSteps is the maximum number of steps of an episode; 0 uses the
	// environment's own limit.
	MaxSteps int `yaml:"max_steps" json:"max_steps" jsonschema:"minimum=0"`
	// Parallel is the number of environment processes, each with its own slots; 0
	// means one per CPU. It never changes a result.
	Parallel int `yaml:"parallel" json:"parallel" resume:"free" jsonschema:"minimum=0"`
	// InFlight is the maximum number of decisions in progress, for policies whose
	// answer times are long and vary. With a value above 0, each slot continues as
	// soon as it has its own decision. With 0, all slots of an environment decide
	// together, unless the policy is a plug-in: then each slot continues on its own,
	// without a bound.
	InFlight int `yaml:"in_flight" json:"in_flight" resume:"free" jsonschema:"minimum=0,maximum=65536"`
	// StepDeadline is the time limit of one exchange with an environment, and of one
	// call of the policy; 0 means none.
	StepDeadline time.Duration `yaml:"step_deadline" json:"step_deadline" resume:"free" jsonschema:"minimum=0" hint:"write a duration such as 30s, or 0 for none"`
	// EpisodeDeadline is the time limit of one attempt at an episode; 0 means none.
	EpisodeDeadline time.Duration `yaml:"episode_deadline" json:"episode_deadline" resume:"free" jsonschema:"minimum=0" hint:"write a duration such as 10m, or 0 for none"`
	// Retries is how often Merit starts an episode again after a fault.
	Retries int `yaml:"retries" json:"retries" jsonschema:"minimum=0"`
	// Restarts is how often Merit restarts an environment that fails before any of
	// its episodes finishes.
	Restarts backoff.Config `yaml:"restarts" json:"restarts" resume:"free"`
	// Action is how a language model's answer becomes an action. An answer without
	// an action is an invalid action: Merit does not pass it to the environment, and
	// the policy sees the previous observation again.
	Action action.Config `yaml:"action" json:"action"`
	// StopPattern ends an episode, after the action, if it matches the policy's
	// output; empty means never.
	StopPattern string `yaml:"stop_pattern" json:"stop_pattern"`
	// Branch is at which states the episodes of training are continued several times.
	Branch BranchConfig `yaml:"branch" json:"branch"`
	// Anchor is what identifies a state: the raw observation, the text that a reader
	// sees, or all messages up to the decision.
	Anchor AnchorSource `yaml:"anchor" json:"anchor" jsonschema:"enum=observation,enum=text,enum=messages"`
	// AnchorPattern is an RE2 expression that reduces the anchor to the captures of
	// its first match, or to the match itself if it has no captures. If it does not
	// match, the anchor stays unchanged.
	AnchorPattern string `yaml:"anchor_pattern" json:"anchor_pattern"`
}

// DefaultConfig returns 32 groups of 8, with deadlines that only a stuck
// environment or an overloaded model exceeds.
func DefaultConfig() Config {
	return Config{
		Groups:          32,
		Members:         8,
		StepDeadline:    2 * time.Minute,
		EpisodeDeadline: 30 * time.Minute,
		Retries:         2,
		Restarts:        backoff.Default(),
		Action:          action.DefaultConfig(),
		Branch:          BranchConfig{Where: branchNowhere, Every: 5, Points: 2, Children: 2, Depth: 1},
		Anchor:          AnchorObservation,
	}
}

// Suits returns every problem of c with an environment of spec: episodes that
// might never end, and actions that cannot be parsed as configured. A collection
// begins with the same checks.
func (c Config) Suits(spec env.Spec) error {
	_, err := c.parser(spec)
	return err
}

// parser returns the parser of actions for an environment of spec.
func (c Config) parser(spec env.Spec) (*action.Parser, error) {
	parser, err := action.New(c.Action, spec.Actions, spec.Tools)
	if err != nil {
		var p fault.Problems
		p.Under("rollout.action", fault.Leaves(err))
		err = errors.Join(p...)
	}
	return parser, errors.Join(err, c.ends(spec), c.Branch.suits(spec.Actions))
}

// ends returns an error if nothing ends an episode.
func (c Config) ends(spec env.Spec) error {
	if c.MaxSteps > 0 || spec.MaxSteps > 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "rollout.max_steps",
		What: fmt.Sprintf("is 0, and environment %s sets no limit, so an episode might never end", spec.Name),
		Hint: "set rollout.max_steps",
	}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	const syntax = "write an RE2 expression; see https://pkg.go.dev/regexp/syntax"
	if _, err := regexp.Compile(c.StopPattern); err != nil {
		p.Invalid("stop_pattern", err.Error(), syntax)
	}
	if _, err := regexp.Compile(c.AnchorPattern); err != nil {
		p.Invalid("anchor_pattern", err.Error(), syntax)
	}
	if b := c.Branch; b.On() && b.MaxSteps > 0 && b.MaxSteps < b.Children {
		p.Invalid("branch.max_steps", fmt.Sprintf("is %d, but the %d branches from a state take at least %d steps", b.MaxSteps, b.Children, b.Children), "raise it, or use 0 for no limit")
	}
	if c.Anchor == AnchorMessages && c.AnchorPattern != "" {
		p.Invalid("anchor_pattern", "is not used with anchor: messages", "remove it, or use anchor: observation or text")
	}
	return p
}
