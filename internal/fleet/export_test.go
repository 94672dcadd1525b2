package fleet

import (
	"context"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/sdk/merit"
)

// StateOf returns the weights of an order.
func StateOf(ctx context.Context, o shardcodec.Order, s queue.Shard) ([]byte, error) {
	return new(job).stateOf(ctx, o, s)
}

// Hold opens the job of c with s, whatever s consists of.
func (b *Executor) Hold(c *Coordinator, s *merit.Session) {
	b.jobs[c.job.Digest] = &job{executor: b, digest: c.job.Digest, session: s, drop: func() error { return nil }, scoring: credit.Pipeline{Rewards: reward.NewPool(s.Parts, 1)}}
}

// Beyond returns the address for other machines of a server at address.
var Beyond = beyond

// Read decodes a result as soon as it arrives.
var Read = read
