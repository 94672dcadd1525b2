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
type ExecutorOptions struct {
	// Dir is where jobs are unpacked, each into a new folder that Close removes. Empty means
	// the system's temporary folder.
	Dir    string
	Grants // what jobs may use
	// Options are for the sessions that the executor opens: a logger, variables.
	Options []merit.Option
	Log     *slog.Logger // nil = none
}

// Executor computes shards in this process. It opens a job at the job's first shard and keeps
// it for later shards. Each running shard has its own environment and policy. It is safe for
// concurrent use.
type Executor struct {
	o ExecutorOptions

	mutex sync.Mutex // guards jobs and order
	jobs  map[queue.Digest]*job
	order []queue.Digest // of jobs; the most recently used is last
}

// maxJobs is how many jobs are kept open.
const maxJobs = 2

// NewExecutor returns an executor without open jobs.
func NewExecutor(o ExecutorOptions) *Executor {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Executor{o: o, jobs: map[queue.Digest]*job{}}
}

// Handlers returns the handler for each kind of shard.
func (x *Executor) Handlers() map[queue.Kind]queue.Handler {
	return map[queue.Kind]queue.Handler{queue.Rollout: x.rollout, queue.Score: x.score}
}

// Close closes all open jobs. Call it when no shard is running.
func (x *Executor) Close() error {
	x.mutex.Lock()
	jobs := x.jobs
	x.jobs, x.order = map[queue.Digest]*job{}, nil
	x.mutex.Unlock()
	var errs []error
	for _, j := range jobs {
		errs = append(errs, j.close())
	}
	return errors.Join(errs...)
}

// rollout plays and scores the episodes that a shard orders.
func (x *Executor) rollout(ctx context.Context, s queue.Shard) ([]byte, error) {
	o, err := shardcodec.ReadOrder(s)
	if err != nil {
		return nil, err
	}
	j, err := x.job(ctx, s, o.Job)
	if err != nil {
		return nil, err
	}
	defer j.leave()
	if !j.session.Config.Environment.Named() {
		return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: "order", What: "the job has no environment", Hint: "report this bug"}
	}
	slot, err := j.slot(ctx, o, s)
	if err != nil {
		return nil, err
	}
	scored, err := slot.play(ctx, o)
	if err != nil {
		return nil, errors.Join(err, slot.close()) // the next shard opens a new one
	}
	j.free(slot)
	if e := shardcodec.Passing(scored); e != nil {
		return nil, unscored(s.Kind, "", *e)
	}
	return shardcodec.Encode(scored)
}

// job returns an open job. The caller must call leave.
func (x *Executor) job(ctx context.Context, s queue.Shard, digest queue.Digest) (*job, error) {
	content, err := needed(s, digest)
	if err != nil {
		return nil, err
	}
	x.mutex.Lock()
	j := x.jobs[digest]
	if j == nil {
		j = &job{executor: x, digest: digest}
		x.jobs[digest] = j
	}
	x.order = append(slices.DeleteFunc(x.order, func(d queue.Digest) bool { return d == digest }), digest)
	old := x.evict()
	j.users++
	x.mutex.Unlock()
	for _, o := range old {
		if err := o.close(); err != nil {
			x.o.Log.WarnContext(ctx, "closing a job failed", "job", o.digest, "cause", err)
		}
	}
	if err := j.open(ctx, content); err != nil {
		j.leave()
		return nil, err
	}
	return j, nil
}

// evict removes unused jobs beyond maxJobs.
func (x *Executor) evict() (old []*job) {
	kept := x.order[:0:0]
	for i, d := range x.order {
		if j := x.jobs[d]; len(x.order)-i > maxJobs && j.users == 0 {
			delete(x.jobs, d)
			old = append(old, j)
			continue
		}
		kept = append(kept, d)
	}
	x.order = kept
	return old
}
