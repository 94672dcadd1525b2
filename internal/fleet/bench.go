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

// ExecutorOptions configure an Executor.
type BenchOptions struct {
	// Dir is where jobs are unpacked, each into a new folder that Close removes. Empty means
	// the system's temporary folder.
	Dir  string
	Lent // what jobs may use
	// Options are for the sessions that the executor opens: a logger, variables.
	Options []merit.Option
	Log     *slog.Logger // nil = none
}

// Executor computes shards in this process. It opens a job at the job's first shard and keeps
// it for later shards. Each running shard has its own environment and policy. It is safe for
// concurrent use.
type Bench struct {
	o BenchOptions

	mutex sync.Mutex // guards jobs and order
	jobs  map[queue.Digest]*job
	order []queue.Digest // of jobs; the most recently used is last
}

// maxJobs is how many jobs are kept open.
const maxJobs = 2

// NewExecutor returns an executor without open jobs.
func NewBench(o BenchOptions) *Bench {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Bench{o: o, jobs: map[queue.Digest]*job{}}
}

// Handlers returns the handler for each kind of shard.
func (b *Bench) Handlers() map[queue.Kind]queue.Handler {
	return map[queue.Kind]queue.Handler{queue.Rollout: b.rollout, queue.Score: b.score}
}

// Close closes all open jobs. Call it when no shard is running.
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

// rollout plays and scores the episodes that a shard orders.
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
		return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: "order", What: "the job has no environment", Hint: "report it"}
	}
	seat, err := j.seat(ctx, o, s)
	if err != nil {
		return nil, err
	}
	scored, err := seat.play(ctx, o)
	if err != nil {
		return nil, errors.Join(err, seat.close()) // the next shard opens a new one
	}
	j.free(seat)
	if e := shardcodec.Passing(scored); e != nil {
		return nil, unscored(s.Kind, "", *e)
	}
	return shardcodec.Encode(scored)
}

// job returns an open job. The caller must call leave.
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
			b.o.Log.WarnContext(ctx, "closing a job failed", "job", o.digest, "cause", err)
		}
	}
	if err := j.open(ctx, bundle); err != nil {
		j.leave()
		return nil, err
	}
	return j, nil
}

// evict removes unused jobs beyond maxJobs.
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
