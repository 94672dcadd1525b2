package rollout

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
)

// request is a request for the decision of one slot.
type request struct {
	slot     int
	ctx      context.Context
	cancel   context.CancelFunc
	episode  time.Time // when its episode is over; zero = never
	observed [1]policy.Observation
	decided  [1]policy.Decision
	err      error // why there is no decision
}

// flow plays episodes of the queue until none is left, with each slot on its own:
// a slow decision delays no other slot. Which slot plays which episode then
// depends on timing, but the episodes do not.
func (w *worker) flow(ctx context.Context) error {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	answers := make(chan *request)
	for {
		w.fill(ctx)
		if w.busy == 0 {
			return nil
		}
		due := false
		for i := range w.slots {
			s := &w.slots[i]
			s.prescribe()
			due = due || s.due()
			if s.waits() {
				r := w.request(ctx, i)
				asking.Go(func() { w.collector.ask(ctx, r, answers) })
			}
		}
		var err error
		if due {
			err = w.turn(ctx)
		} else {
			err = w.await(ctx, answers)
		}
		if err != nil {
			return err
		}
	}
}

func (w *worker) request(ctx context.Context, i int) *request {
	s := &w.slots[i]
	r := &request{slot: i, observed: [1]policy.Observation{w.observation(s)}}
	if limit := w.collector.cfg.EpisodeDeadline; limit > 0 {
		r.episode = s.began.Add(limit)
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	s.asked = r
	return r
}

// ask puts r to the policy once there is a place for it, and gives the answer
// back unless the worker has stopped.
func (c *Collector) ask(ctx context.Context, r *request, answers chan<- *request) {
	defer r.cancel()
	select {
	case c.places <- struct{}{}:
		r.err = c.decide(r)
		<-c.places
	case <-r.ctx.Done():
		r.err = r.ctx.Err()
	}
	select {
	case answers <- r:
	case <-ctx.Done():
	}
}

// decide asks the policy for the decision of r within the deadlines.
func (c *Collector) decide(r *request) error {
	limited, cancel := c.limit(r.ctx)
	defer cancel()
	what := fmt.Sprintf("no decision within step_deadline %v", c.cfg.StepDeadline)
	if !r.episode.IsZero() {
		if step, ok := limited.Deadline(); !ok || r.episode.Before(step) {
			what = fmt.Sprintf("the episode took longer than episode_deadline %v", c.cfg.EpisodeDeadline)
		}
		limited, cancel = context.WithDeadline(limited, r.episode)
		defer cancel()
	}
	err := c.policy.Act(limited, r.observed[:], r.decided[:])
	if err == nil {
		err = r.decided[0].Err
	}
	if err != nil && over(limited) && r.ctx.Err() == nil {
		return &fault.Error{
			Boundary: fault.Learner, Kind: fault.Timeout, Where: "policy", What: what, Retry: true,
			Hint: "raise the deadline in the rollout section, or lower rollout.in_flight if the server is overloaded", Err: err,
		}
	}
	return err
}

// await waits for a decision and takes all that are ready.
func (w *worker) await(ctx context.Context, answers <-chan *request) error {
	select {
	case r := <-answers:
		if err := w.answered(ctx, r); err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		select {
		case r := <-answers:
			if err := w.answered(ctx, r); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// answered takes the decision of r, unless its episode was lost meanwhile.
func (w *worker) answered(ctx context.Context, r *request) error {
	s := &w.slots[r.slot]
	if s.asked != r {
		return nil
	}
	s.asked = nil
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.err != nil:
		return w.undecided(s, r.err)
	}
	return w.take(ctx, s, &r.decided[0])
}
