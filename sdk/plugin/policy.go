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

// PolicyDefinition describes the policy that a plug-in offers. Options is a
// struct with json tags.
type PolicyDefinition[Options any] struct {
	Name    string
	Version string
	Summary string // one sentence for lists
	// Defaults are the default options. The options that a user sets are
	// decoded over them; unknown keys are errors.
	Defaults Options
	// Check, if set, returns all problems of the options, joined; see Problem.
	// It is called before New, even if some options could not be decoded. Those
	// have their default values then.
	Check func(PolicySetup, Options) error
	// New creates the policy: a Policy, or a Learner if it can learn.
	New func(PolicySetup, Options) (Policy, error)
}

// PolicySetup is what the host sets for a policy, besides its options.
type PolicySetup struct {
	Seed         Seed            // the seed for the initial weights
	Actions      []string        // the actions of the environment; nil = free text
	FeatureShape []int           // the shape of its observation tensor; nil = none
	Tools        json.RawMessage // a JSON list of OpenAI tools; nil = none
	Learn        bool            // whether Learn will be called
	Updates      int             // how often Learn will be called, for schedules; 0 = unknown
}

// Policy is a configured policy that answers one request at a time. A Policy
// that implements io.Closer is closed at the end.
type Policy interface {
	// Spec describes the policy. It always returns the same value. The SDK
	// fills in Name, Version and Learns.
	Spec() PolicySpec
	// Act decides on one request. The decision must depend only on that
	// request. Many calls run at once. ctx ends when nothing waits for the
	// answer any more. After an error that is marked with Retry, or a panic,
	// only the episode of this request fails; any other error stops the
	// rollout, because no other request would succeed.
	//
	// A decision has an action, or Raw, an output that Merit parses. Lag is how
	// many updates older than the newest weights the weights that decided are.
	// Err and LogitMax are not used.
	Act(ctx context.Context, r *Request) (Decision, error)
}

// Learner is a Policy that learns. The methods that it adds are called one at a
// time and never while a request is open. After an error marked with Retry,
// Merit considers the learner's state lost and calls Load next. After any other
// error, the state must be the same as before the call.
type Learner interface {
	Policy
	// Learn updates the policy once, with sequences that it sampled and their
	// advantages. There may be no sequences. All randomness must come from
	// seed.
	Learn(ctx context.Context, sequences []Sequence, seed Seed) (Stats, error)
	// Publish makes the policy act with the newest weights.
	Publish(ctx context.Context) error
	// Save returns the state that Load needs to continue from here, at most 48
	// MiB. name identifies the point of the run, for weights that are stored
	// elsewhere.
	Save(ctx context.Context, name string) ([]byte, error)
	// Load restores a saved state, and the policy acts with it. A nil state
	// means the state before the first Learn.
	Load(ctx context.Context, state []byte) error
}

// The types of requests, decisions and updates. They are Merit's own types.
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

// The reasons for which a Decision ends the episode.
const (
	StopPolicyEnded = rl.StopPolicyEnded
	StopContext     = rl.StopContext
)

// Choose returns the action with an index into the environment's actions.
func Choose(index int) PolicyAction { return PolicyAction{Kind: rl.ActionChoice, Choice: index} }

// Text returns the content of a message with the text s.
func Text(s string) Content { return rl.Text(s) }

// Retry marks an error as temporary: the request was valid, but something that
// it needs was not available. Merit may then play the episode again. Any other
// error means that no request will succeed.
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
