package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// PolicyDefinition is a policy that a plug-in offers. Options is a struct with
// json tags.
type PolicyDefinition[Options any] struct {
	Name    string
	Version string
	Summary string // one sentence, for lists
	// Defaults are the options of a user who sets none; what a user sets is
	// decoded over them, strictly.
	Defaults Options
	// Check, if set, returns all that is wrong with the options, joined: see
	// Problem. It is called before New, and also when some options could not
	// be decoded, which then have their defaults.
	Check func(PolicySetup, Options) error
	// New builds the policy: a Policy, or a Learner if it can learn.
	New func(PolicySetup, Options) (Policy, error)
}

// PolicySetup is what a policy is built for, besides its options.
type PolicySetup struct {
	Seed         Seed            // of the initial weights
	Actions      []string        // of the environment; nil = free text
	FeatureShape []int           // of its observation tensor; nil = none
	Tools        json.RawMessage // JSON list of OpenAI tools; nil = none
	Learn        bool            // Learn will be called …
	Updates      int             // … so often, for schedules; 0 = not known
}

// Policy is a configured policy, written for one request at a time. A policy
// that implements io.Closer is closed at the end.
type Policy interface {
	// Spec describes it; it never changes. The SDK fills in Name, Version and
	// Learns.
	Spec() PolicySpec
	// Act answers one request: it depends on that request only. Many run at
	// once. The context ends when nobody waits for the answer any longer. An
	// error that is marked with Retry, or a panic, costs the episode of this
	// request; any other error ends the rollout, for no other would fare better.
	//
	// A decision has an action, or Raw, an output that Merit parses. Lag counts
	// the updates that the weights that decided lack; Err and LogitMax are not
	// used.
	Act(ctx context.Context, r *Request) (Decision, error)
}

// Learner is a Policy that learns. Its own methods are called one at a time and
// never while a request is open. After an error to which Retry was applied the
// learner's state counts as lost and Load comes next; after any other it must
// be as before the call.
type Learner interface {
	Policy
	// Learn improves the policy once, by sequences that it sampled and their
	// advantages. There may be none. Seed is all the randomness that it has.
	Learn(ctx context.Context, sequences []Sequence, seed Seed) (Stats, error)
	// Publish makes the newest weights act from here on.
	Publish(ctx context.Context) error
	// Save returns all that Load needs to go on from here, at most 48 MiB.
	// Name says at which point of a run that is, for weights kept elsewhere.
	Save(ctx context.Context, name string) ([]byte, error)
	// Load puts the policy into a saved state, which acts from here on. Nil is
	// the state before the first Learn.
	Load(ctx context.Context, state []byte) error
}

// What a policy is asked and what it answers: the nouns of Merit itself.
type (
	PolicySpec   = policy.Spec
	Request      = policy.Observation
	Decision     = policy.Decision
	Sequence     = policy.Sequence
	Stats        = policy.Stats
	Message      = rl.Message
	Content      = rl.Content
	ToolCall     = rl.ToolCall
	FunctionCall = rl.FunctionCall
	Token        = rl.Token
	Seed         = rl.Seed
	PolicyAction = rl.Action
)

// Why a Decision ends the episode.
const (
	StopPolicyEnded = rl.StopPolicyEnded
	StopContext     = rl.StopContext
)

// Choose is the action with an index among those of the environment.
func Choose(index int) PolicyAction { return PolicyAction{Kind: rl.ActionChoice, Choice: index} }

// Text is the content of a message.
func Text(s string) Content { return rl.Text(s) }

// Retry marks an error as one that may not come again: the request was right,
// something that it needs was not there. The episode may then be begun again;
// any other error means that no request will be answered.
func Retry(err error) error {
	again := fault.Error{Boundary: fault.Plugin, Kind: fault.Crashed, What: err.Error(), Retry: true}
	if e, ok := err.(*fault.Error); ok {
		again = *e
		again.Retry = true
	}
	return &again
}

func (d PolicyDefinition[Options]) check() error {
	var errs []error
	if d.Name == "" || d.Version == "" {
		errs = append(errs, errors.New("a plugin.PolicyDefinition needs a Name and a Version"))
	}
	if d.New == nil {
		errs = append(errs, fmt.Errorf("plugin.PolicyDefinition %q needs a New", d.Name))
	}
	return errors.Join(errs...)
}

// Open gives the policy within this process, without a plug-in: for tests. What
// it decides goes through the same checks. Options is a JSON object; nil leaves
// every default.
func (d PolicyDefinition[Options]) Open(setup PolicySetup, options json.RawMessage) (policy.Learner, error) {
	a, err := d.build(setup, options)
	if err != nil {
		return nil, err
	}
	return &inProcess{actor: a}, nil
}

// build is Open without the interface of the host.
func (d PolicyDefinition[Options]) build(setup PolicySetup, options json.RawMessage) (*actor, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	o := d.Defaults
	wrong := decodeOptions(options, &o)
	if d.Check != nil {
		wrong = append(wrong, guard(func() error { return d.Check(setup, o) }))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	p, err := guarded(func() (Policy, error) { return d.New(setup, o) })
	if err != nil {
		return nil, err
	}
	return newActor(p, d.Name, d.Version, setup), nil
}
