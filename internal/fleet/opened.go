package fleet

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/sdk/merit"
)

// job is a bundle that is open.
type job struct {
	bench  *Bench
	digest queue.Digest
	users  int // under the bench's mutex

	mutex   sync.Mutex   // of what follows
	drop    func() error // removes its folder
	session *merit.Session
	scoring credit.Pipeline
	idle    []*seat

	loading sync.Mutex   // of what follows: slots need the same weights at the same time
	weights queue.Digest // that were brought last
	state   []byte
}

func (j *job) leave() {
	j.bench.mutex.Lock()
	defer j.bench.mutex.Unlock()
	j.users--
}

// open unpacks and opens the session, once; after a failure the next caller tries
// again.
func (j *job) open(ctx context.Context, bundle queue.Content) (err error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.session != nil {
		return nil
	}
	from, err := bundle.Open(ctx)
	if err != nil {
		return err
	}
	defer from.Close() // only read
	dir, drop, err := j.bench.folder()
	if err != nil {
		return err
	}
	if j.session, err = Unpack(ctx, from, dir, j.bench.o.Lent, j.bench.o.Options...); err != nil {
		return errors.Join(err, drop())
	}
	j.drop = drop
	j.scoring = credit.Pipeline{Rewards: reward.NewPool(j.session.Parts, j.session.Config.Rollout.Parallel)}
	return nil
}

// folder makes one for the files of a job.
func (b *Bench) folder() (dir string, drop func() error, err error) {
	base := cmp.Or(b.o.Dir, os.TempDir())
	if err = os.MkdirAll(base, 0o700); err == nil {
		dir, err = os.MkdirTemp(base, "merit-job-")
	}
	if err != nil {
		return "", nil, stored(err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

func (j *job) close() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var errs []error
	for _, s := range j.idle {
		errs = append(errs, s.close())
	}
	j.idle = nil
	if j.session != nil {
		errs = append(errs, j.session.Close(), j.drop())
		j.session = nil
	}
	return errors.Join(errs...)
}

// score scores the trajectories of a shard. What cannot be asked here, or takes
// too long, is an error: another try may have an answer.
func (b *Bench) score(ctx context.Context, s queue.Shard) ([]byte, error) {
	o, err := shardcodec.ReadScoring(ctx, s)
	if err != nil {
		return nil, err
	}
	j, err := b.job(ctx, s, o.Job)
	if err != nil {
		return nil, err
	}
	defer j.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	evaluations, err := inOneSlot(j.session.Rewards).EvaluateAll(ctx, o.Trajectories, func(i int, e reward.Evaluation) {
		if t := o.Trajectories[i]; shardcodec.Passes(t, e) {
			cancel(unscored(queue.Score, t.ID, e)) // the others would be for nothing
		}
	})
	if err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return shardcodec.EncodeScores(evaluations)
}

// inOneSlot is a pool for one shard of several: as many evaluations at a time as a
// part that waits can use, and one where all compute.
func inOneSlot(r *merit.Rewards) *reward.Pool {
	parallel := 1
	for _, p := range r.Parts {
		parallel = max(parallel, p.Scorer.Info().InFlight)
	}
	return reward.NewPool(r.Parts, parallel)
}

// unscored is the error of a shard of which a reward could not be asked.
func unscored(kind queue.Kind, where string, e reward.Evaluation) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Unscored, Where: string(kind) + " " + where, What: "a reward could not be asked here: " + string(e.Outcome) + ": " + e.Reason,
		Hint: "look at what the reward needs on this machine",
	}
}

// lostText says that a worker was in trouble with an order, and another might not
// be. It goes from worker to coordinator in the text of an error.
const lostText = "an episode was lost where it was played"

// lostHere is the error of an order of which episodes were lost in this process.
func lostHere(groups []*rl.Group) error {
	why := ""
	for _, g := range groups {
		for _, t := range g.Trajectories {
			why = cmp.Or(why, t.Error)
		}
	}
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Crashed, Where: "order", What: lostText + ": " + why,
		Hint: "it is tried again, by another worker if there is one; look for what this machine lacks, such as memory",
	}
}

// lossy reports whether a shard was given up of which its last worker said that it
// was in trouble. It is asked for once more: what is lost then is lost, and the
// other episodes of the shard are not.
func lossy(err error) bool { return strings.Contains(err.Error(), lostText) }
