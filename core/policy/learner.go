package policy

import (
	"context"

	"github.com/merit-rl/merit/core/rl"
)

// Learner is a policy that learns. Its methods but Act and Version are called
// one at a time, and never while Act is under way.
type Learner interface {
	Policy
	// Spec says what the policy is; it never changes.
	Spec() Spec
	// Learn improves the policy by what became of its decisions. Seed is the
	// randomness of the update. Every call counts in Version. Until Publish,
	// either version may act.
	//
	// After an error that is fault.Retryable the state of the learner is not
	// known, and Load comes next; after any other it is as before the call.
	Learn(ctx context.Context, e *Experience, seed rl.Seed) (Stats, error)
	// Publish makes the newest version act from here on.
	Publish(ctx context.Context) error
	// Save returns the state with which Load puts a learner of the same
	// configuration, in this process or another, where this one stands. The
	// state may name weights that an engine keeps, which Name then is part of:
	// it says at which point of a run they were saved.
	Save(ctx context.Context, name string) ([]byte, error)
	// Load puts the learner into a saved state, which acts from here on. Nil
	// is the state before the first Learn.
	Load(ctx context.Context, state []byte) error
	// Close frees what the learner holds. It may be called more than once.
	Close() error
}

// Portable is a Learner that can say what acts without what only learning needs.
type Portable interface {
	// Weights returns a state with which Load makes a learner of the same
	// configuration that only acts decide as this one does now. Equal weights are
	// equal bytes. It is called as Save is.
	Weights(ctx context.Context) ([]byte, error)
}

// Spec describes a policy as configured.
type Spec struct {
	Name      string
	Version   string
	Learns    bool   // Learn, Publish, Save and Load work
	Model     string // whose weights act; empty if they have no name
	Tokenizer string // digest of the tokenizer; empty if there is none
	Context   int    // tokens that a conversation may have; 0 = not known
}

// Stats describes an update: means over what was learnt from, weighted. What a
// learner does not measure is 0.
type Stats struct {
	Loss         float64
	KL           float64 // estimate against the policy that acted, nats
	Entropy      float64 // nats
	ClipFraction float64 // share whose gradient the clip removed
	GradNorm     float64 // before clipping
	ValueLoss    float64
	LearningRate float64
	Minibatches  int // optimiser steps

	// Of the embedded network.
	PolicyLoss        float64 // without the other terms
	ReferenceKL       float64 // estimate against the KL term's reference, nats
	KLCoefficient     float64 // of this update
	EntropyWeight     float64 // of this update
	DualClipFraction  float64 // share whose gradient the dual clip removed
	ExplainedVariance float64 // of the critic, before the update
	AdvantageRMS      float64 // of the advantages, before they were scaled

	// Of learners of language models.
	Sequences int     // learnt from
	Tokens    int     // with a gradient
	Ratio     float64 // mean of learner ÷ sampler probability before the update
	Drift     float64 // mean |log-probability of the learner − of the sampler| before the update …
	DriftMax  float64 // … and its largest: of one set of weights both are near 0
}
