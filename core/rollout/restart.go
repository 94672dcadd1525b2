package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
)

// maxChunk caps the steps for which a trajectory allocates at once.
const maxChunk = 32

// start opens the environment.
func (w *worker) start(ctx context.Context) error {
	e, err := w.open(ctx, w.id)
	if err != nil {
		return err
	}
	spec := e.Spec()
	if err := w.collector.agree(spec); err != nil {
		return errors.Join(err, e.Close())
	}
	w.env, w.spec, w.reply = e, spec, env.Reply{}
	w.budget.Started(time.Now())
	w.batch = env.NewBatch(spec)
	return nil
}

// first opens the environment for the first time. It returns permanent errors at
// once; an environment that crashed or was too slow may be retried.
func (w *worker) first(ctx context.Context, q *queue) error {
	err := w.start(ctx)
	died := errors.Is(err, fault.Of(fault.Plugin, fault.Crashed)) || errors.Is(err, fault.Of(fault.Plugin, fault.Timeout))
	if !died || ctx.Err() != nil {
		return err
	}
	w.queue, w.spec.Name = q, fault.As(err).Where
	return w.restart(ctx, err, 0)
}

// prepare makes w ready for a collection.
func (w *worker) prepare(ctx context.Context, q *queue, share int) error {
	c := w.collector
	n := min(w.spec.Slots, share)
	w.queue, w.slots, w.busy, w.alone, w.apart = q, make([]slot, n), 0, false, false
	w.limit, w.version = cmp.Or(c.cfg.MaxSteps, w.spec.MaxSteps), c.policy.Version()
	w.chunk = min(w.limit, maxChunk)
	w.budget.Progressed()
	w.debug = c.debugs(ctx)
	w.decisions = make([]policy.Decision, n)
	clear(w.batch.Ops)
	return nil
}

// forget drops the state of a collection.
func (w *worker) forget() {
	w.queue, w.slots, w.observations, w.decisions = nil, nil, nil, nil
}

// restart opens the environment again after a fault that interrupted so many
// episodes.
func (w *worker) restart(ctx context.Context, cause error, episodes int) error {
	for {
		w.close()
		pause, again := w.budget.Died(time.Now())
		if !again {
			return w.giveUp(cause)
		}
		w.collector.log.WarnContext(ctx, "environment restarts", "worker", w.id, "environment", w.spec.Name, "episodes", episodes, "after", pause, "cause", cause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		w.queue.restarted()
		err := w.start(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		cause, episodes = err, 0
	}
}

// giveUp returns the error of an environment that keeps failing, with its own
// message.
func (w *worker) giveUp(cause error) error {
	e := &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Crashed, Where: w.spec.Name,
		What: fmt.Sprintf("the environment failed %d times in a row without finishing an episode", w.budget.Deaths()),
		Hint: "run the environment on its own and look at its output", Err: cause,
	}
	if own := fault.As(cause); own != nil {
		e.Kind = own.Kind
		if own.Hint != "" {
			e.Hint = own.Hint
		}
	}
	return e
}

// close shuts the environment down, if there is one.
func (w *worker) close() error {
	if w.env == nil {
		return nil
	}
	err := w.env.Close()
	w.env = nil
	return err
}

// agree makes sure that every environment of the collector is the same.
func (c *Collector) agree(spec env.Spec) error {
	if spec.Slots < 1 {
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Protocol, Where: spec.Name,
			What: fmt.Sprintf("the environment has %d slots", spec.Slots), Hint: "it needs at least one",
		}
	}
	spec.Slots = 0
	c.specMu.Lock()
	defer c.specMu.Unlock()
	if c.spec == nil {
		parser, err := c.cfg.parser(spec)
		if err != nil {
			return err
		}
		c.spec, c.parser = &spec, parser
	}
	if !reflect.DeepEqual(*c.spec, spec) {
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Protocol, Where: spec.Name,
			What: fmt.Sprintf("the environment's description changed from %+v to %+v", *c.spec, spec),
			Hint: "make its description depend on its options alone",
		}
	}
	return nil
}
