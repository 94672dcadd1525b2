// Package rollout collects intact groups of trajectories: N members from one
// identical start, acted by one policy in vectorised environments, in bounded
// parallel.
//
// What is collected is a function of (seed, group, member, step) and of the
// policy alone: the number of workers, the number of slots, the order of
// arrival and crashes that a retry survives leave no trace in it.
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
	AnchorObservation AnchorSource = "observation" // the environment's own raw observation
	AnchorText        AnchorSource = "text"        // the observation as a reader sees it
	AnchorMessages    AnchorSource = "messages"    // the whole conversation up to the decision
)

// MaxInFlight is the largest Config.InFlight: as good as no bound.
const MaxInFlight = 1 << 16

// Config says how episodes are collected.
type Config struct {
	// Groups is how many identical starts a collection has, Members how many
	// episodes begin from each.
	Groups  int `yaml:"groups" json:"groups" jsonschema:"minimum=1"`
	Members int `yaml:"members" json:"members" jsonschema:"minimum=1"`
	// MaxSteps cuts an episode; 0 leaves it to the environment's own limit.
	MaxSteps int `yaml:"max_steps" json:"max_steps" jsonschema:"minimum=0"`
	// Parallel is how many environments run beside each other, each with its
	// own slots; 0 means one for each processor. It never changes a result.
	Parallel int `yaml:"parallel" json:"parallel" resume:"free" jsonschema:"minimum=0"`
	// InFlight, if it is not 0, lets every slot move on when its own decision is
	// there, and bounds how many decisions are under way: for policies that
	// answer slowly and unevenly. With 0 all slots of an environment decide at
	// once, unless the policy is a plug-in, which then has no bound.
	InFlight int `yaml:"in_flight" json:"in_flight" resume:"free" jsonschema:"minimum=0,maximum=65536"`
	// StepDeadline bounds one exchange with an environment and one call of the
	// policy; EpisodeDeadline bounds one attempt at an episode; 0 means none.
	StepDeadline    time.Duration `yaml:"step_deadline" json:"step_deadline" resume:"free" jsonschema:"minimum=0" hint:"write a duration such as 30s, or 0 for none"`
	EpisodeDeadline time.Duration `yaml:"episode_deadline" json:"episode_deadline" resume:"free" jsonschema:"minimum=0" hint:"write a duration such as 10m, or 0 for none"`
	// Retries is how often an episode that a fault destroyed is begun again.
	Retries int `yaml:"retries" json:"retries" jsonschema:"minimum=0"`
	// Restarts says how often an environment that dies is started again while no
	// episode in it comes to its end.
	Restarts backoff.Config `yaml:"restarts" json:"restarts" resume:"free"`
	// Action says how the answer of a language model becomes an action. An
	// answer that names none is an invalid action: the environment is not asked,
	// and what the policy saw before stands.
	Action action.Config `yaml:"action" json:"action"`
	// StopPattern ends an episode, after the action, when it matches the
	// policy's output; empty means never.
	StopPattern string `yaml:"stop_pattern" json:"stop_pattern"`
	// Anchor says what identifies a state. AnchorPattern, if set, reduces it
	// to the captures of its first match (the match itself if it captures
	// nothing); where it does not match, the whole source stays the anchor.
	Anchor        AnchorSource `yaml:"anchor" json:"anchor" jsonschema:"enum=observation,enum=text,enum=messages"`
	AnchorPattern string       `yaml:"anchor_pattern" json:"anchor_pattern"`
}

// DefaultConfig returns 32 groups of 8 with deadlines that only a stuck
// environment, or a model that is asked too much at a time, meets.
func DefaultConfig() Config {
	return Config{
		Groups:          32,
		Members:         8,
		StepDeadline:    2 * time.Minute,
		EpisodeDeadline: 30 * time.Minute,
		Retries:         2,
		Restarts:        backoff.Default(),
		Action:          action.DefaultConfig(),
		Anchor:          AnchorObservation,
	}
}

// Suits returns every problem of c with an environment of spec: that episodes
// might never end, and that actions are not to be read as c says. A collection
// begins with the same checks.
func (c Config) Suits(spec env.Spec) error {
	_, err := c.parser(spec)
	return err
}

// parser is what reads the actions of an environment of spec.
func (c Config) parser(spec env.Spec) (*action.Parser, error) {
	parser, err := action.New(c.Action, spec.Actions, spec.Tools)
	if err != nil {
		var p fault.Problems
		p.Under("rollout.action", fault.Leaves(err))
		err = errors.Join(p...)
	}
	return parser, errors.Join(err, c.ends(spec))
}

// ends returns an error if nothing ends an episode.
func (c Config) ends(spec env.Spec) error {
	if c.MaxSteps > 0 || spec.MaxSteps > 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "rollout.max_steps",
		What: fmt.Sprintf("is 0, and environment %s sets no limit of its own: an episode might never end", spec.Name),
		Hint: "set rollout.max_steps",
	}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	const syntax = "write an RE2 expression; https://pkg.go.dev/regexp/syntax has the syntax"
	if _, err := regexp.Compile(c.StopPattern); err != nil {
		p.Invalid("stop_pattern", err.Error(), syntax)
	}
	if _, err := regexp.Compile(c.AnchorPattern); err != nil {
		p.Invalid("anchor_pattern", err.Error(), syntax)
	}
	if c.Anchor == AnchorMessages && c.AnchorPattern != "" {
		p.Invalid("anchor_pattern", "has no use with anchor: messages", "remove it, or use anchor: observation or text")
	}
	return p
}
