// Package queue distributes shards to workers and returns one result for each shard, in any
// order. It does not interpret their contents. Local computes in this process. Dial connects to
// a NATS JetStream server as a coordinator, Work as a worker, and Look as an admin. Only this
// package imports the client library.
//
// A result is a pure function of its shard. So a shard may be computed twice, by any worker, at
// any time, and the first result is as good as any other. The server never holds the only copy
// of anything: the coordinator knows which shards it submitted, and submits missing ones again.
// Only the coordinator retries: see Remote.Submit.
package queue

import (
	"context"
	"iter"
)

// Kind is the kind of work of a shard. It selects the Handler that computes it.
type Kind string

// The kinds of work.
const (
	Rollout Kind = "rollout" // play groups and score them
	Score   Kind = "score"   // score trajectories
)

// Limits of what is sent over the network. Larger data is sent as a Content.
const (
	MaxBody   = 768 << 10 // bytes of a Shard's Body
	MaxResult = 64 << 20  // bytes of a Result's Body
	MaxNeeds  = 16        // contents of a shard
	MaxBlob   = 2 << 30   // bytes of one content
)

// Shard is a unit of work: the input of a pure function.
type Shard struct {
	// Kind selects the function.
	Kind Kind
	// Index is the shard's number within one Submit, counted from 0.
	Index int
	// Body is the function's input, at most MaxBody bytes.
	Body []byte
	// Needs are contents that Body refers to and that are too large for it, such as weights.
	Needs []Content
	// Unsure means that the result may depend on the worker, for example because every earlier
	// worker had trouble with the shard. The result is not verified.
	Unsure bool
}

// Result is the outcome of a shard.
type Result struct {
	Index int
	// Worker is the verified identity of the worker; empty if this process computed the shard.
	Worker string
	// Body is what the Handler returned, if Err is nil. It is untrusted.
	Body []byte
	// Value is what VerifyOptions.Read returned for Body.
	Value any
	// Err says why the shard was given up after its last try. It is a *fault.Error with the
	// boundary fault.Fleet.
	Err error
	// Deliveries is how often the shard was delivered. It is informational.
	Deliveries int
}

// Fleet computes shards. It is safe for concurrent use.
type Fleet interface {
	// Submit computes shards, which it draws as capacity becomes free, and yields one result
	// for each, in any order. If it yields a non-nil error, that is the last value: the error
	// of ctx, or why the fleet cannot continue. Job names the caller, such as a run and what it
	// plays, in letters, digits and dashes. If this process dies, a later Submit with the same
	// job and shards finds the existing results. Stopping the iteration early cancels the
	// shards that are not computed yet.
	Submit(ctx context.Context, job string, shards iter.Seq[Shard]) iter.Seq2[Result, error]
	// Close disconnects from the fleet and cancels submitted shards.
	Close() error
}

// Handler computes the result of a shard from its Kind, Body and Needs alone. The result must
// be the same bytes whatever the shard's index, the worker and the duration. A Handler may be
// called from several goroutines at once. An error is not a result: the shard is tried again,
// by another worker if there is one, and is given up after MaxTries.
type Handler func(ctx context.Context, s Shard) ([]byte, error)
