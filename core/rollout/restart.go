package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
)

// backOff is how long to wait before each restart; when all of them were
// needed within crashWindow and no episode was finished, the environment is
// given up.
var backOff = [...]time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond}

const crashWindow = time.Minute

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
	w.batch = env.NewBatch(spec)
	return nil
}

// first opens the environment for the first time. What fails then is wrong with
// the environment and is said at once, unless another worker has it running:
// then it is a crash like any other.
func (w *worker) first(ctx context.Context, q *queue) error {
	err := w.start(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, fault.Of(fault.Plugin, fault.Protocol)) {
		return err
	}
	w.collector.specMu.Lock()
	spec := w.collector.spec
	w.collector.specMu.Unlock()
	if spec == nil {
		return err
	}
	w.queue, w.spec = q, *spec
	return w.restart(ctx, err)
}

// prepare makes w ready for a collection.
func (w *worker) prepare(ctx context.Context, q *queue, share int) error {
	c := w.collector
	if c.cfg.MaxSteps == 0 && w.spec.MaxSteps == 0 {
		return &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: "rollout.max_steps",
			What: fmt.Sprintf("is 0, and environment %s sets no limit of its own: an episode might never end", w.spec.Name),
			Hint: "set rollout.max_steps",
		}
	}
	n := min(w.spec.Slots, share)
	w.queue, w.slots, w.busy, w.alone, w.apart = q, make([]slot, n), 0, false, false
	w.limit, w.version = cmp.Or(c.cfg.MaxSteps, w.spec.MaxSteps), c.policy.Version()
	w.chunk = min(w.limit, maxChunk)
	w.crashes = w.crashes[:0]
	w.debug = c.debugs(ctx)
	w.decisions = make([]policy.Decision, n)
	clear(w.batch.Ops)
	return nil
}

// forget lets go of a collection.
func (w *worker) forget() {
	w.queue, w.slots, w.observations, w.decisions = nil, nil, nil, nil
}

// restart opens the environment again after a fault.
func (w *worker) restart(ctx context.Context, cause error) error {
	for {
		w.close()
		now := time.Now()
		for len(w.crashes) > 0 && now.Sub(w.crashes[0]) > crashWindow {
			w.crashes = w.crashes[1:]
		}
		if len(w.crashes) == len(backOff) {
			return w.giveUp(cause)
		}
		pause := backOff[len(w.crashes)]
		w.crashes = append(w.crashes, now)
		w.collector.log.WarnContext(ctx, "environment restarts", "worker", w.id, "environment", w.spec.Name, "after", pause, "cause", cause)
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
		case errors.Is(err, fault.Of(fault.Plugin, fault.Protocol)):
			return err
		}
		cause = err
	}
}

// giveUp says that the environment cannot be kept alive, with its own words.
func (w *worker) giveUp(cause error) error {
	e := &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Crashed, Where: w.spec.Name,
		What: fmt.Sprintf("the environment failed %d times within %v without finishing an episode", len(backOff)+1, crashWindow),
		Hint: "run the environment alone and look at its output", Err: cause,
	}
	if own := fault.As(cause); own != nil {
		e.Kind = own.Kind
		if own.Hint != "" {
			e.Hint = own.Hint
		}
	}
	return e
}

// close ends the environment, if there is one.
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
		parser, err := action.New(c.cfg.Action, spec.Actions, spec.Tools)
		if err != nil {
			return errors.Join(under("rollout.action", flat(err))...)
		}
		c.spec, c.parser = &spec, parser
	}
	if !reflect.DeepEqual(*c.spec, spec) {
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Protocol, Where: spec.Name,
			What: fmt.Sprintf("the environment describes itself differently than before: %+v, then %+v", *c.spec, spec),
			Hint: "its description must be a function of its options alone",
		}
	}
	return nil
}

// flat returns the errors that are joined in err.
func flat(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	return []error{err}
}
