package merit

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/sandbox"
)

// Section is a part of a configuration that belongs to a feature. It is a
// pointer to a struct of the feature, with the tags that core/config reads.
// Copies of a Config share their sections, so copy a section before you change
// it. A section that contains paths has a method EachPath, as config.Stage
// does.
type Section interface {
	// SetDefaults sets the defaults before the section is read.
	SetDefaults()
	// Validate returns all problems, each a *fault.Error whose Where is a key
	// path relative to the section.
	Validate() []error
}

// TracesSection is the section traces.
type TracesSection interface {
	Section
	// Chosen reports whether a run learns from traces instead of an environment.
	Chosen() bool
	// Suits returns why the policy of such a run cannot play in an environment with
	// spec; chooses is true for the embedded network. Key paths are absolute.
	Suits(spec env.Spec, chooses bool) error
}

// RewardSection is a section of a reward that opens a scorer.
type RewardSection interface {
	Section
	// OpenReward opens the scorer; its Close frees the resources. In an error
	// of the boundary Config, Where is a key path relative to the section.
	OpenReward(ctx context.Context, o RewardOptions) (OpenedReward, error)
}

// RewardOptions are the inputs of a section that opens a scorer.
type RewardOptions struct {
	Module  reward.Scorer  // the module of the same reward; nil if it has none
	Sandbox sandbox.Config // limits what the scorer runs
	Getenv  func(string) string
	Log     *slog.Logger
}

// OpenedReward is a scorer that a section of a reward has opened.
type OpenedReward struct {
	Scorer reward.Scorer
	// Ready checks that the services that the scorer needs are available. It is
	// called after all rewards are open; nil checks nothing.
	Ready func(context.Context) error
	Close func() error
}

// AskSection is a section of a reward that grants its module a language model.
type AskSection interface {
	Section
	// OpenAsk opens what answers; its Close frees the resources. In an error of the
	// boundary Config, Where is a key path relative to the section.
	OpenAsk(ctx context.Context, o RewardOptions) (OpenedAsk, error)
}

// OpenedAsk is what answers the questions of a module.
type OpenedAsk struct {
	Answerer reward.Answerer
	// Ready is that of OpenedReward.
	Ready func(context.Context) error
	// Record keeps every answer in a folder, so that the same questions have the
	// same answers later, and counts the questions of a run over all its processes. The
	// grants of a configuration share the folder; n is the number of this one, from 0.
	Record func(dir string, n int) error
	Close  func() error
}

// PricedSection is a section with language models. UsePrices sets the prices of
// those models for which the section does not set them itself.
type PricedSection interface {
	Section
	UsePrices(cost.Prices)
}

// Sampler is a scorer that Try must try on an episode of the scorer's choice.
type Sampler interface {
	// Sample returns the episode, or nil if there is nothing to try.
	Sample() (*rl.Trajectory, error)
}

// Adviser is a scorer that can explain its failures.
type Adviser interface {
	// Advice returns the boundary of a failure and the hint for the user.
	Advice() (where fault.Boundary, hint string)
}

// The keys at which a feature may register a section.
const (
	keyTraces  = "traces"
	keyFleet   = "fleet"
	keyRewards = "rewards[]."
	keyJudge   = keyRewards + "judge"
	keyRubric  = keyRewards + "rubric"
	keyAsk     = keyRewards + "ask"
)

// sections maps a key to the type of the section that a feature registered.
var sections = map[string]reflect.Type{}

// makeReport makes the report of a run; nil if no feature has registered one.
var makeReport func(dir string) ([]byte, error)

// RegisterTraces registers the type of s for the section traces. Like the other
// Register functions, it must be called while the program starts.
func RegisterTraces(s TracesSection) { register(keyTraces, s) }

// RegisterFleet registers the type of s for the section fleet.
func RegisterFleet(s Section) { register(keyFleet, s) }

// RegisterJudge registers the type of s for rewards[].judge, a scorer instead
// of a module.
func RegisterJudge(s RewardSection) { register(keyJudge, s) }

// RegisterRubric registers the type of s for rewards[].rubric, a scorer around
// a module.
func RegisterRubric(s RewardSection) { register(keyRubric, s) }

// RegisterAsk registers the type of s for rewards[].ask, which grants a module a
// language model.
func RegisterAsk(s AskSection) { register(keyAsk, s) }

// RegisterReport sets the function that makes report.html from the directory of
// a finished run.
func RegisterReport(report func(dir string) ([]byte, error)) { makeReport = report }

func register(key string, s Section) {
	if _, taken := sections[key]; taken {
		panic(fmt.Sprintf("merit: two features register the section %s", key))
	}
	sections[key] = reflect.TypeOf(s).Elem()
}

// newSection returns the section at key with its defaults, or nil if the
// program does not include its feature.
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

// copied returns a copy of a section, which others may share.
func copied[S Section](s S) S {
	if any(s) == nil {
		return s
	}
	own := reflect.New(reflect.TypeOf(s).Elem())
	own.Elem().Set(reflect.ValueOf(s).Elem())
	return own.Interface().(S)
}

// moved returns a copy of a section with every path in it replaced.
func moved[S Section](s S, replace func(string) string) S {
	own := copied(s)
	if pathed, ok := any(own).(interface{ EachPath(func(string) string) }); ok {
		pathed.EachPath(replace)
	}
	return own
}

// priced returns a copy of a section that uses prices.
func priced[S Section](s S, prices cost.Prices) S {
	own := copied(s)
	if models, ok := any(own).(PricedSection); ok {
		models.UsePrices(prices)
	}
	return own
}
