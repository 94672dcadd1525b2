package policy

import (
	"context"

	"github.com/merit-rl/merit/core/rl"
)

// Learner is a policy that learns. All methods except Act and Version are called
// one at a time, and never during a call of Act.
type Learner interface {
	Policy
	// Spec describes the policy; it never changes.
	Spec() Spec
	// Learn improves the policy from the results of its decisions. Seed determines
	// the randomness of the update. Every call counts in Version. Until Publish,
	// either version may act.
	//
	// After an error that is fault.Retryable the state of the learner is unknown,
	// and the caller must call Load next; after any other error it is unchanged.
	Learn(ctx context.Context, e *Experience, seed rl.Seed) (Stats, error)
	// Publish makes the newest version act from now on.
	Publish(ctx context.Context) error
	// Save returns the state of the learner. Load restores it in a learner of the
	// same configuration, in this process or another one. The state may refer to
	// weights that an engine keeps. Their name then contains name, the point of
	// the run at which they were saved.
	Save(ctx context.Context, name string) ([]byte, error)
	// Load restores a saved state, which acts from now on. Nil is the state before
	// the first Learn.
	Load(ctx context.Context, state []byte) error
	// Close frees what the learner holds. It may be called more than once.
	Close() error
}

// Starter is a Learner that can start from the state of another run, with settings
// that may differ.
type Starter interface {
	// Start puts the learner into a saved state of a learner of the same network and
	// makes that the state before the first Learn: Version is 0, schedules begin, and
	// Load restores it for nil. With a fresh optimizer, only the weights are used.
	Start(ctx context.Context, state []byte, freshOptimizer bool) error
}

// Portable is a Learner that can save its weights without the state that only
// learning needs.
type Portable interface {
	// Weights returns a state that Load accepts in a learner that only acts, so
	// that it decides as this one does now. Equal weights have equal bytes. The
	// rules for calls are those of Save.
	Weights(ctx context.Context) ([]byte, error)
}

// Spec describes a policy as configured.
type Spec struct {
	Name      string
	Version   string
	Learns    bool   // Learn, Publish, Save and Load work
	Model     string // name of the weights that act; empty if they have none
	Tokenizer string // digest of the tokenizer; empty if there is none
	Context   int    // tokens that a conversation may have; 0 = not known
	Imitates  bool   // it accepts Observation.Answered and Experience.Imitate
}

// Stats describes an update: weighted means over the rows. Fields that a learner
// does not measure are 0.
type Stats struct {
	Loss         float64
	KL           float64 // estimate against the policy that acted, nats
	Entropy      float64 // nats
	ClipFraction float64 // share whose gradient the clip removed
	GradNorm     float64 // before clipping
	ValueLoss    float64
	LearningRate float64
	Minibatches  int // optimizer steps

	// Of the embedded network.
	PolicyLoss        float64 // without the other terms
	ReferenceKL       float64 // estimate against the KL term's reference, nats
	KLCoefficient     float64 // of this update
	EntropyWeight     float64 // of this update
	DualClipFraction  float64 // share whose gradient the dual clip removed
	ExplainedVariance float64 // of the critic, before the update
	AdvantageRMS      float64 // of the advantages, before they were scaled

	// Of learners of language models.
	Sequences int     // learned from
	Tokens    int     // with a gradient
	Ratio     float64 // mean of learner ÷ sampler probability before the update
	Drift     float64 // mean |log-probability of the learner − of the sampler| before the update …
	DriftMax  float64 // … and its largest: of one set of weights both are near 0
}
