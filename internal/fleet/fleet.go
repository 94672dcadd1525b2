// Package fleet spreads work over machines: shards go out, results come back,
// each once, in any order. It knows what neither of them holds, and no network:
// Local computes in this process, package jetstream in workers elsewhere.
//
// A result is a pure function of its shard. So a shard may be computed twice, by
// anybody, at any time, and the first result is as good as any other; and the
// queue never holds the only copy of anything: the coordinator knows what it
// asked for, and asks again for what does not come.
package fleet

import (
	"context"
	"io"
	"iter"
)

// Kind names what a shard asks for, and with it the Handler that computes it.
type Kind string

// The kinds of work.
const (
	Rollout Kind = "rollout" // play groups and score them
	Score   Kind = "score"   // score trajectories
)

// Digest names content: sha256: and 64 hexadecimal digits.
type Digest string

// Bounds of what crosses the network. What is larger goes by digest.
const (
	MaxBody   = 768 << 10 // bytes of a Shard's Body
	MaxResult = 64 << 20  // bytes of a Result's Body; above an envelope it goes as content
	MaxNeeds  = 16        // digests of a shard
	MaxBlob   = 2 << 30   // bytes of one content
)

// Shard is a part of the work of a run: the input of a pure function.
type Shard struct {
	// Kind chooses the function.
	Kind Kind
	// Index is the shard's place within one Submit, from 0, each once.
	Index int
	// Body is what the function reads, of at most MaxBody bytes.
	Body []byte
	// Needs are contents that Body names: configurations, modules, plug-ins, weights.
	// They were Put before the shard is submitted.
	Needs []Digest
	// Not, if it is set, is a worker that must not compute the shard: another is
	// to say what comes of it.
	Not string
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
	// Err says why there is no result, and never will be one: the shard was tried
	// as often as it may be. It is a *fault.Error of the boundary fault.Fleet.
	Err error
	// Deliveries is how often the shard was handed out; for people only.
	Deliveries int
	// Read, if it is set, returns what VerifyOptions.Read made of Body.
	Read func() any
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
	// Put keeps content that shards need. It reads nothing if the content is there,
	// and fails if it is not what digest says.
	Put(ctx context.Context, digest Digest, size int64, content io.Reader) error
	// Close leaves the fleet. What is submitted is taken back.
	Close() error
}

// Contents gives a Handler what a shard needs.
type Contents interface {
	// Path returns the path of a file with the content, fetched, verified and
	// kept until the call of the Handler returns. It must not be written to.
	Path(ctx context.Context, digest Digest) (string, error)
}

// Handler computes the result of a shard, a function of its Kind, Body and Needs
// alone: the same, byte by byte, whatever the shard's place, whoever computes it
// and however long that takes. It may be called by several goroutines at once. An
// error is not the shard's result: the shard is tried again, by another worker if
// there is one, and is given up after so many tries.
type Handler func(ctx context.Context, s Shard, contents Contents) ([]byte, error)
