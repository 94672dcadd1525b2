package merit

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox"
)

// Section is a part of a configuration that belongs to a feature: a pointer to a
// struct of the feature, with the tags that core/config reads. Copies of a Config
// share their sections: change a copy of a section, not the section. A section
// with paths in it has a method EachPath, as config.Stage has.
type Section interface {
	// SetDefaults is called before the section is read.
	SetDefaults()
	// Validate returns every problem, each a *fault.Error whose Where is a key path
	// relative to the section.
	Validate() []error
}

// TracesSection is the section traces.
type TracesSection interface {
	Section
	// Chosen reports whether a run learns from traces instead of an environment.
	Chosen() bool
}

// RewardSection is a section of a reward that opens a scorer.
type RewardSection interface {
	Section
	// OpenReward opens the scorer, whose Close frees what it holds. An error of the
	// boundary Config has a key path relative to the section as its Where.
	OpenReward(ctx context.Context, o RewardOptions) (OpenedReward, error)
}

// RewardOptions are what a section of a reward gets to open its scorer.
type RewardOptions struct {
	Module  reward.Scorer  // the module that has the section beside it; nil if there is none
	Sandbox sandbox.Config // bounds what the scorer runs
	Getenv  func(string) string
	Log     *slog.Logger
}

// OpenedReward is a scorer that a section of a reward has opened.
type OpenedReward struct {
	Scorer reward.Scorer
	// Ready asks what the scorer depends on whether it is there. It is called after
	// all rewards are open; nil asks nothing.
	Ready func(context.Context) error
	Close func() error
}

// Sampler is a scorer that needs an episode of its own to be tried on.
type Sampler interface {
	// Sample returns the episode; nil if there is nothing to try.
	Sample() (*rl.Trajectory, error)
}

// Adviser is a scorer that knows where its own failures lie.
type Adviser interface {
	// Advice returns the boundary of a failure, and what the user should do.
	Advice() (where fault.Boundary, hint string)
}

// The keys at which a feature may register a section.
const (
	keyTraces  = "traces"
	keyFleet   = "fleet"
	keyRewards = "rewards[]."
	keyJudge   = keyRewards + "judge"
	keyRubric  = keyRewards + "rubric"
)

// sections are the types of the sections that features have registered, by key.
var sections = map[string]reflect.Type{}

// makeReport is the report that a feature has registered; nil makes none.
var makeReport func(dir string) ([]byte, error)

// RegisterTraces makes sections of the type of s the section traces. Like the
// other functions that register, it is called while the program starts.
func RegisterTraces(s TracesSection) { register(keyTraces, s) }

// RegisterFleet makes sections of the type of s the section fleet.
func RegisterFleet(s Section) { register(keyFleet, s) }

// RegisterJudge makes sections of the type of s what rewards[].judge holds: a
// scorer in the place of a module.
func RegisterJudge(s RewardSection) { register(keyJudge, s) }

// RegisterRubric makes sections of the type of s what rewards[].rubric holds: a
// scorer around a module.
func RegisterRubric(s RewardSection) { register(keyRubric, s) }

// RegisterReport sets what makes report.html from the folder of a finished run.
func RegisterReport(report func(dir string) ([]byte, error)) { makeReport = report }

func register(key string, s Section) {
	if _, taken := sections[key]; taken {
		panic(fmt.Sprintf("merit: two features register the section %s", key))
	}
	sections[key] = reflect.TypeOf(s).Elem()
}

// newSection returns the section at key with its defaults, or nil if the program
// does not have its feature.
func newSection[S Section](key string) (s S) {
	if t, ok := sections[key]; ok {
		s = reflect.New(t).Interface().(S)
		s.SetDefaults()
	}
	return s
}

// NewSection implements config.Sections.
func (c *Config) NewSection(key string) any { return anySection(key) }

// NewSection implements config.Sections.
func (r *Reward) NewSection(key string) any { return anySection(keyRewards + key) }

func anySection(key string) any {
	if s := newSection[Section](key); s != nil {
		return s
	}
	return nil
}

// moved returns a copy of a section with every path in it replaced.
func moved[S Section](s S, replace func(string) string) S {
	if any(s) == nil {
		return s
	}
	own := reflect.New(reflect.TypeOf(s).Elem())
	own.Elem().Set(reflect.ValueOf(s).Elem())
	if pathed, ok := own.Interface().(interface{ EachPath(func(string) string) }); ok {
		pathed.EachPath(replace)
	}
	return own.Interface().(S)
}

// Traced reports whether a run of c learns from traces instead of an environment.
func (c *Config) Traced() bool {
	traces, ok := c.Traces.(TracesSection)
	return ok && traces.Chosen()
}
