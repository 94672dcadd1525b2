package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
)

// seat is a place at which one shard at a time is played.
type seat struct {
	job        *job
	policy     policy.Learner
	weights    queue.Digest                  // of policy; empty = untrained
	collectors map[string]*rollout.Collector // by split
}

// seat returns a free place whose policy acts as o says.
func (j *job) seat(ctx context.Context, o shardcodec.Order, shard queue.Shard) (*seat, error) {
	j.mutex.Lock()
	var s *seat
	if n := len(j.idle); n > 0 {
		s, j.idle = j.idle[n-1], j.idle[:n-1]
	}
	j.mutex.Unlock()
	if s == nil {
		p, err := j.session.OpenPlayer(ctx, nil, nil)
		if err != nil {
			return nil, err
		}
		s = &seat{job: j, policy: p, weights: untrained, collectors: map[string]*rollout.Collector{}}
	}
	if err := s.load(ctx, o, shard); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// free gives a place back.
func (j *job) free(s *seat) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.idle = append(j.idle, s)
}

// untrained is what a policy is sent as that is as whoever opens it has it.
var untrained = queue.DigestOfBytes(nil)

// load makes the policy of s the one that o names.
func (s *seat) load(ctx context.Context, o shardcodec.Order, shard queue.Shard) error {
	if s.weights != o.Policy {
		state, err := s.job.stateOf(ctx, o, shard)
		if err != nil {
			return err
		}
		if len(state) == 0 {
			state = nil // an untrained policy's
		}
		if err := s.policy.Load(ctx, state); err != nil {
			return err
		}
		s.weights = o.Policy
	}
	if v := s.policy.Version(); v != o.Version {
		return &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Differs, Where: "policy", What: "the weights are of another version than the order says",
			Hint: "is the policy's engine the one that the coordinator uses?",
		}
	}
	return nil
}

// stateOf are the weights of an order, which go with it or are a content.
func (j *job) stateOf(ctx context.Context, o shardcodec.Order, shard queue.Shard) ([]byte, error) {
	if o.Weights != nil {
		if queue.DigestOfBytes(o.Weights) != o.Policy {
			return nil, &fault.Error{
				Boundary: fault.Fleet, Kind: fault.Corrupt, Where: "order", What: "the weights with it are others than it names", Hint: "whoever sent it is broken or of another version",
			}
		}
		return o.Weights, nil
	}
	j.loading.Lock()
	defer j.loading.Unlock()
	if j.weights != o.Policy {
		c, err := needed(shard, o.Policy)
		if err != nil {
			return nil, err
		}
		state, err := c.Bytes(ctx, maxState)
		if err != nil {
			return nil, err
		}
		j.weights, j.state = o.Policy, state
	}
	return j.state, nil
}

// needed returns what a shard needs by a digest that it names.
func needed(s queue.Shard, d queue.Digest) (queue.Content, error) {
	i := slices.IndexFunc(s.Needs, func(c queue.Content) bool { return c.Digest == d })
	if i < 0 {
		return queue.Content{}, &fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: string(s.Kind), What: "it names what it does not need", Hint: "whoever sent it is broken or of another version"}
	}
	return s.Needs[i], nil
}

// play plays and scores an order. An episode that is lost to what may pass, such as
// an environment's process that somebody ended, is a matter of this machine and no
// result, unless the order takes it for one.
func (s *seat) play(ctx context.Context, o shardcodec.Order) (scored credit.Scored, err error) {
	c := s.collectors[o.Split]
	if c == nil {
		open := func(ctx context.Context, worker int) (env.Env, error) {
			return s.job.session.OpenEnv(ctx, o.Split, worker)
		}
		cfg := s.job.session.Config.Settings().Rollout
		cfg.Parallel = 1
		if c, err = rollout.New(cfg, open, s.policy, rollout.WithLogger(s.job.bench.o.Log.With("split", o.Split))); err != nil {
			return scored, err
		}
		s.collectors[o.Split] = c
	}
	groups, stats, err := c.Collect(ctx, o.Plan, nil)
	if err != nil {
		return scored, err
	}
	if stats.Passing > 0 && !o.Lossy {
		return scored, lostHere(groups)
	}
	return s.job.scoring.Score(ctx, groups)
}

func (s *seat) close() error {
	var errs []error
	for _, c := range s.collectors {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, s.policy.Close())...)
}
