// Package queue spreads shards over workers: they go out, results come back, each
// once, in any order. It knows what neither of them holds. Local computes in this
// process; Dial is a coordinator's end of a NATS JetStream server, Work a worker's,
// and Admin looks on. It is the only package that knows the client's library.
//
// A result is a pure function of its shard. So a shard may be computed twice, by
// anybody, at any time, and the first result is as good as any other; and the
// server never holds the only copy of anything: the coordinator knows what it asked
// for, and asks again for what does not come. It alone does: see Remote.Submit.
package queue

import (
	"context"
	"iter"
)

// Kind names what a shard asks for, and with it the Handler that computes it.
type Kind string

// The kinds of work.
const (
	Rollout Kind = "rollout" // play groups and score them
	Score   Kind = "score"   // score trajectories
)

// Bounds of what crosses the network. What is larger goes as a Content.
const (
	MaxBody   = 768 << 10 // bytes of a Shard's Body
	MaxResult = 64 << 20  // bytes of a Result's Body
	MaxNeeds  = 16        // contents of a shard
	MaxBlob   = 2 << 30   // bytes of one content
)

// Shard is a part of the work of a run: the input of a pure function.
type Shard struct {
	// Kind chooses the function.
	Kind Kind
	// Index is the shard's place within one Submit, which counts them from 0.
	Index int
	// Body is what the function reads, of at most MaxBody bytes.
	Body []byte
	// Needs are what Body names and what is too large for it, such as weights.
	Needs []Content
	// Unsure says that what comes of the shard depends on who computes it, as when
	// several have tried and each of them was in trouble: nobody compares it.
	Unsure bool
}

// Result is what became of a shard.
type Result struct {
	Index int
	// Worker is who computed it, as it proved to be; empty in this process.
	Worker string
	// Body is what the Handler returned, if Err is nil. It is not trusted.
	Body []byte
	// Value is what VerifyOptions.Read made of Body.
	Value any
	// Err says why there is no result, and never will be one: the shard was tried
	// as often as it may be. It is a *fault.Error of the boundary fault.Fleet.
	Err error
	// Deliveries is how often the shard was handed out; for people only.
	Deliveries int
}

// Fleet computes shards. It is safe for concurrent use.
type Fleet interface {
	// Submit hands out shards, which it draws as fast as there are places for
	// them, and yields one result for each of them, in any order. A non-nil error
	// is the last thing it yields: that of ctx, or why the fleet can compute
	// nothing more. Job names who asks, such as a run and what it plays, in
	// letters, digits and dashes: results of a Submit that was cut short by the
	// end of this process are found again by one of the same job and shards.
	// Leaving the iteration early takes back what is not computed yet.
	Submit(ctx context.Context, job string, shards iter.Seq[Shard]) iter.Seq2[Result, error]
	// Close leaves the fleet. What is submitted is taken back.
	Close() error
}

// Handler computes the result of a shard, a function of its Kind, Body and Needs
// alone: the same, byte by byte, whatever the shard's place, whoever computes it
// and however long that takes. It may be called by several goroutines at once. An
// error is not the shard's result: the shard is tried again, by another worker if
// there is one, and is given up after so many tries.
type Handler func(ctx context.Context, s Shard) ([]byte, error)
