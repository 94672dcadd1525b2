package fleets

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sdk/merit"
)

// job is a bundle that is open.
type job struct {
	bench  *Bench
	digest fleet.Digest
	users  int // under the bench's mutex

	mutex   sync.Mutex // of what follows
	dir     string
	session *merit.Session
	scoring credit.Pipeline
	idle    []*seat
}

func (j *job) leave() {
	j.bench.mutex.Lock()
	defer j.bench.mutex.Unlock()
	j.users--
}

// open unpacks and opens the session, once; after a failure the next caller tries
// again.
func (j *job) open(ctx context.Context, contents fleet.Contents) (err error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.session != nil {
		return nil
	}
	path, err := contents.Path(ctx, j.digest)
	if err != nil {
		return err
	}
	if j.bench.o.Dir != "" {
		if err := os.MkdirAll(j.bench.o.Dir, 0o700); err != nil {
			return stored(err)
		}
	}
	dir, err := os.MkdirTemp(j.bench.o.Dir, "merit-job-")
	if err != nil {
		return err
	}
	if j.session, err = Unpack(ctx, path, dir, j.bench.o.Allow, j.bench.o.Options...); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	j.dir = dir
	j.scoring = credit.Pipeline{Rewards: reward.NewPool(j.session.Parts, j.session.Config.Rollout.Parallel)}
	return nil
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
		errs = append(errs, j.session.Close(), os.RemoveAll(j.dir))
		j.session = nil
	}
	return errors.Join(errs...)
}
