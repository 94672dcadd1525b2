package rollout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// limit bounds a call by the step deadline.
func (c *Collector) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.cfg.StepDeadline == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.cfg.StepDeadline)
}

// exchange sends what every slot wants to the environment and checks what
// comes back. After an error the environment is not to be used again.
func (w *worker) exchange(ctx context.Context) error {
	asked := 0
	w.batch.Want = env.WantText
	if w.spec.Features() > 0 {
		w.batch.Want |= env.WantFeatures
	}
	for i := range w.slots {
		s := &w.slots[i]
		w.batch.Ops[i] = env.Skip
		switch s.phase {
		case starting:
			w.batch.Ops[i], w.batch.Seeds[i] = env.Reset, s.t.Seed
		case repeating:
			s.repeat(&w.spec, w.batch, i)
		case acting:
			s.submit(&w.spec, w.batch, i)
		}
		if w.batch.Ops[i] != env.Skip {
			asked++
		}
	}
	w.reply.Events = w.reply.Events[:0]
	if asked == 0 {
		return nil
	}
	limited, cancel := w.collector.limit(ctx)
	defer cancel()
	err := w.env.Exchange(limited, w.batch, &w.reply)
	switch {
	case err == nil:
		err = w.checkReply()
	case ctx.Err() == nil && over(limited):
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Timeout, Where: w.spec.Name,
			What: fmt.Sprintf("no answer within step_deadline %v", w.collector.cfg.StepDeadline),
			Hint: "raise rollout.step_deadline if the environment needs more time", Err: err,
		}
	}
	if err == nil || fault.As(err) != nil {
		return err
	}
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Crashed, Where: w.spec.Name, What: "the environment failed", Err: err}
}

// checkReply returns how the reply breaks the contract of env.Reply, if it
// does.
func (w *worker) checkReply() error {
	r, n := &w.reply, len(w.batch.Ops)
	nf, na := w.spec.Features(), len(w.spec.Actions)
	if len(r.Anchor) != n || len(r.Text) != n || len(r.Reward) != n || len(r.Flags) != n || len(r.Mask) != n*na || len(r.Features) != n*nf {
		return w.broken("the columns of the reply have the wrong length: %d anchors, %d texts, %d rewards, %d flags, %d mask bytes, %d features for %d slots",
			len(r.Anchor), len(r.Text), len(r.Reward), len(r.Flags), len(r.Mask), len(r.Features), n)
	}
	for _, e := range r.Events {
		if e.Slot < 0 || e.Slot >= n {
			return w.broken("an event names slot %d, but there are %d slots", e.Slot, n)
		}
	}
	for i := range w.slots {
		if w.batch.Ops[i] == env.Skip || r.Flags[i]&env.Failed != 0 {
			continue
		}
		if x := r.Reward[i]; math.IsNaN(x) || math.IsInf(x, 0) {
			return w.broken("the reward of slot %d is %v", i, x)
		}
		over := r.Flags[i]&(env.Terminated|env.Truncated) != 0
		if over && w.batch.Ops[i] == env.Reset {
			return w.broken("the episode in slot %d had already ended when it began (seed %d)", i, w.batch.Seeds[i])
		}
		if na > 0 && !over && !slices.ContainsFunc(r.Mask[i*na:(i+1)*na], func(b byte) bool { return b != 0 }) {
			return w.broken("slot %d offers no action, but its episode has not ended", i)
		}
		if !finite(r.Features[i*nf : (i+1)*nf]) {
			return w.broken("the features of slot %d are not all finite", i)
		}
	}
	return nil
}

// finite reports whether all of x is finite: no exponent has all its bits set. It
// tests bits for speed, because it checks every number of every observation.
func finite(x []float32) bool {
	const exponent = 0x7f800000
	ok := true
	for _, v := range x {
		ok = ok && math.Float32bits(v)&exponent != exponent
	}
	return ok
}

func (w *worker) broken(format string, args ...any) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: w.spec.Name, What: fmt.Sprintf(format, args...),
		Hint: "report it as a bug of the environment; the contract is in the documentation of package core/env",
	}
}

// failure returns the reason that slot i gives for its failure.
func (w *worker) failure(i int) error {
	why := ""
	for _, e := range w.reply.Events {
		if e.Slot == i && e.Kind == env.EventError {
			why = e.Message
		}
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Crashed, Where: w.spec.Name,
		What: cmp.Or(why, "the slot failed without a reason"),
	}
}

func (w *worker) late(deadline time.Duration) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Timeout, Where: w.spec.Name,
		What: fmt.Sprintf("the episode took longer than episode_deadline %v", deadline),
	}
}

// over reports whether the time of ctx is, whether or not its timer has fired.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// maxErrorText caps the error text of a trajectory.
const maxErrorText = 2048

// loss is how an attempt at an episode was lost.
type loss int

const (
	told    loss = iota // the environment reported it or broke its contract, so a retry would fail too
	passing             // something was late or busy, which may pass
	crashed             // the environment ended with all episodes in it, which may pass
)

// lose ends an attempt at the episode in s: it is begun again, or, if that was
// the last attempt, filed with its error.
func (w *worker) lose(s *slot, cause error, how loss) {
	if s.asked != nil {
		s.asked.cancel()
	}
	if w.queue.again(s.job, how) {
		s.clear()
		w.busy--
		return
	}
	text := fmt.Sprintf("after %d steps: %v", len(s.t.Steps), cause)
	if s.phase == acting {
		text = fmt.Sprintf("at step %d, action %q: %v", len(s.t.Steps), s.decision.Action.Text, cause)
	}
	if f := fault.As(cause); f != nil && f.Hint != "" {
		text += "; " + f.Hint
	}
	s.t.StopReason, s.t.Error = rl.StopError, strings.ToValidUTF8(text[:min(len(text), maxErrorText)], "")
	w.leave(s)
}

// loseAll ends every attempt in an environment that crashed.
func (w *worker) loseAll(cause error) {
	for i := range w.slots {
		if s := &w.slots[i]; s.phase != idle {
			w.lose(s, cause, crashed)
		}
	}
}
