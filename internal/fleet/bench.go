package fleet

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/sdk/merit"
)

// BenchOptions are what a bench needs of the program.
type BenchOptions struct {
	// Dir is where jobs are unpacked, in folders of the bench's own that Close
	// removes; empty is the system's folder for such things.
	Dir  string
	Lent // what jobs may have
	// Options are those of the sessions that it opens: a logger, variables.
	Options []merit.Option
	Log     *slog.Logger // nil = none
}

// Bench does the work of shards in this process. What a job needs is opened at
// its first shard and kept for those that follow; each shard under way has an
// environment and a policy of its own. It is safe for concurrent use.
type Bench struct {
	o BenchOptions

	mutex sync.Mutex // of what follows
	jobs  map[queue.Digest]*job
	order []queue.Digest // of jobs, the one used last at the end
}

// maxJobs is how many jobs are kept open.
const maxJobs = 2

// NewBench returns a bench that has opened nothing yet.
func NewBench(o BenchOptions) *Bench {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Bench{o: o, jobs: map[queue.Digest]*job{}}
}

// Handlers returns what computes each kind of shard.
func (b *Bench) Handlers() map[queue.Kind]queue.Handler {
	return map[queue.Kind]queue.Handler{queue.Rollout: b.rollout, queue.Score: b.score}
}

// Close ends what the bench has opened, when no shard is under way any more.
func (b *Bench) Close() error {
	b.mutex.Lock()
	jobs := b.jobs
	b.jobs, b.order = map[queue.Digest]*job{}, nil
	b.mutex.Unlock()
	var errs []error
	for _, j := range jobs {
		errs = append(errs, j.close())
	}
	return errors.Join(errs...)
}

// rollout plays and scores what a shard orders.
func (b *Bench) rollout(ctx context.Context, s queue.Shard) ([]byte, error) {
	o, err := shardcodec.ReadOrder(s)
	if err != nil {
		return nil, err
	}
	j, err := b.job(ctx, s, o.Job)
	if err != nil {
		return nil, err
	}
	defer j.leave()
	if j.session.Config.Environment.Plugin == "" {
		return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: "order", What: "the job has nothing to play", Hint: "report it"}
	}
	seat, err := j.seat(ctx, o, s)
	if err != nil {
		return nil, err
	}
	scored, err := seat.play(ctx, o)
	if err != nil {
		return nil, errors.Join(err, seat.close()) // what broke is opened anew
	}
	j.free(seat)
	if e := shardcodec.Passing(scored); e != nil {
		return nil, unscored(s.Kind, "", *e)
	}
	return shardcodec.Encode(scored)
}

// job returns an open job, which the caller leaves.
func (b *Bench) job(ctx context.Context, s queue.Shard, digest queue.Digest) (*job, error) {
	bundle, err := needed(s, digest)
	if err != nil {
		return nil, err
	}
	b.mutex.Lock()
	j := b.jobs[digest]
	if j == nil {
		j = &job{bench: b, digest: digest}
		b.jobs[digest] = j
	}
	b.order = append(slices.DeleteFunc(b.order, func(d queue.Digest) bool { return d == digest }), digest)
	old := b.evict()
	j.users++
	b.mutex.Unlock()
	for _, o := range old {
		if err := o.close(); err != nil {
			b.o.Log.WarnContext(ctx, "a job was not closed well", "job", o.digest, "cause", err)
		}
	}
	if err := j.open(ctx, bundle); err != nil {
		j.leave()
		return nil, err
	}
	return j, nil
}

// evict takes out the jobs beyond maxJobs that nobody uses.
func (b *Bench) evict() (old []*job) {
	kept := b.order[:0:0]
	for i, d := range b.order {
		if j := b.jobs[d]; len(b.order)-i > maxJobs && j.users == 0 {
			delete(b.jobs, d)
			old = append(old, j)
			continue
		}
		kept = append(kept, d)
	}
	b.order = kept
	return old
}
