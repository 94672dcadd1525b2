package rollout

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/backoff"
)

// worker plays episodes in one environment. A cycle is one call of the policy for
// all slots that have an observation and one exchange with the environment for all
// slots, in which finished ones begin their next episode; with Config.InFlight,
// each slot continues when its own decision arrives.
type worker struct {
	collector *Collector
	id        int
	open      Open

	env    env.Env // nil before the first use and after a fault
	spec   env.Spec
	batch  *env.Batch
	reply  env.Reply
	budget backoff.Budget // of starts without a finished episode

	// Of the current collection:
	queue   *queue
	slots   []slot
	busy    int  // slots that are not idle
	alone   bool // the one episode in the environment is to be the only one
	apart   bool // the last episode that began was alone
	limit   int  // steps after which an episode is cut, including those that did not reach the environment
	chunk   int  // steps for which a trajectory allocates at once
	version uint64
	debug   bool

	rows         []int // slot of each row that the policy sees
	observations []policy.Observation
	decisions    []policy.Decision
}

// run plays episodes of q, at most share of them at a time, until none is left.
func (w *worker) run(ctx context.Context, q *queue, share int) error {
	if w.env == nil {
		if err := w.first(ctx, q); err != nil {
			return err
		}
	}
	if err := w.prepare(ctx, q, share); err != nil {
		return err
	}
	defer w.forget()
	if w.collector.places != nil {
		return w.flow(ctx)
	}
	for {
		if err := w.decide(ctx); err != nil {
			return err
		}
		w.fill(ctx)
		if w.busy == 0 {
			return nil
		}
		if err := w.turn(ctx); err != nil {
			return err
		}
	}
}

// turn exchanges the actions of the waiting slots with the environment. If it
// fails, their episodes are lost, and the worker restarts it.
func (w *worker) turn(ctx context.Context) error {
	err := w.exchange(ctx)
	switch {
	case err == nil:
		w.absorb(ctx)
		return nil
	case ctx.Err() != nil:
		w.close()
		return context.Cause(ctx)
	}
	lost := w.busy
	w.loseAll(err)
	if lost == 1 && w.queue.anyDone() { // the episode is to blame: others end well in this environment
		w.budget.Progressed()
	}
	return w.restart(ctx, err, lost)
}

// fill begins waiting episodes in idle slots.
func (w *worker) fill(ctx context.Context) {
	if w.busy == 0 {
		w.alone = false
	}
	for i := range w.slots {
		s := &w.slots[i]
		if s.phase != idle || w.alone {
			continue
		}
		j, alone, ok := w.nextFor(s)
		if !ok {
			continue
		}
		s.begin(j, w.queue.begin(j, w.spec.Name), w.chunk, time.Now())
		w.busy++
		w.restore(ctx, s, i)
		w.alone = alone
		if alone && !w.apart {
			w.budget.Progressed() // healthy episodes can progress now that they are separate
		}
		w.apart = alone
	}
}

// nextFor returns the next episode for s: the next branch from the state that s left, or one of
// the queue.
func (w *worker) nextFor(s *slot) (j job, alone, ok bool) {
	if s.next != nil {
		return *s.next, false, true
	}
	return w.queue.take(w.busy == 0)
}

// absorb takes the environment's reply: every slot that waited for it gets its
// observation and, if it had acted, its step.
func (w *worker) absorb(ctx context.Context) {
	for k := range w.reply.Events {
		e := &w.reply.Events[k]
		if s := &w.slots[e.Slot]; s.due() && !(s.phase == repeating && e.Kind != env.EventMetric) {
			if err := s.hear(e); err != nil {
				w.lose(s, w.broken("%v", err), told)
			}
		}
	}
	now := time.Now()
	for i := range w.slots {
		s := &w.slots[i]
		if !s.due() {
			continue
		}
		flags := w.reply.Flags[i]
		if s.held {
			flags = 0
		}
		if flags&env.Failed != 0 {
			w.lose(s, w.failure(i), told)
			continue
		}
		w.advance(ctx, s, i, flags)
		if limit := w.collector.cfg.EpisodeDeadline; s.phase == deciding && limit > 0 && now.Sub(s.began) > limit {
			w.lose(s, w.late(limit), passing)
		}
	}
}

// advance moves slot i on by what the environment answered.
func (w *worker) advance(ctx context.Context, s *slot, i int, flags env.Flag) {
	switch s.phase {
	case starting:
		w.opened(s, i)
		if s.job.branch != nil {
			w.follow(ctx, s, i)
		}
		return
	case repeating:
		w.compare(ctx, s, i, flags)
		return
	}
	reward := w.reply.Reward[i]
	if s.held {
		reward = 0
	}
	step := s.record(&w.spec, w.version, reward, flags)
	reason := w.stopReason(s, step)
	step.Truncated = reason == rl.StopTruncated
	w.observe(s, i)
	if w.debug {
		w.logStep(ctx, s, step)
	}
	switch {
	case reason == "":
		s.phase = deciding
	case reason == rl.StopTruncated && s.decision.HasValue:
		s.t.StopReason, s.phase = reason, valuing
	default:
		w.finish(s, reason)
	}
}

// stopReason returns why the episode ends with step, or "" if it continues.
func (w *worker) stopReason(s *slot, step *rl.Step) rl.StopReason {
	switch {
	case step.Terminated:
		return rl.StopTerminated
	case step.Truncated:
		return rl.StopTruncated
	case w.collector.stop != nil && w.collector.stop.MatchString(s.output()):
		return rl.StopPattern
	case len(s.t.Steps) >= w.limit:
		return rl.StopTruncated
	case w.collector.cfg.Action.AskAgain > 0 && s.invalid >= w.collector.cfg.Action.AskAgain:
		return rl.StopInvalid
	}
	return ""
}

// opened begins the conversation of s: with the messages of its task, or with
// the observation in row i of the reply.
func (w *worker) opened(s *slot, i int) {
	task := s.task
	s.t.GroundTruth, s.t.Task = task.GroundTruth, cmp.Or(task.ID, s.t.Task)
	s.t.Metadata, s.info, s.task = informed(s.info, task.Metadata), nil, rl.Task{}
	if w.spec.System != "" && (len(task.Messages) == 0 || task.Messages[0].Role != rl.RoleSystem) {
		s.t.Messages = append(s.t.Messages, rl.Message{Role: rl.RoleSystem, Content: rl.Text(w.spec.System)})
	}
	if len(task.Messages) == 0 {
		w.observe(s, i)
	} else {
		s.t.Messages = append(s.t.Messages, task.Messages...)
		w.see(s, i)
		s.anchor = w.collector.anchorOf(s, w.reply.Anchor[i])
	}
	s.phase = deciding
}

// observe makes row i of the reply the current observation of s. If the
// environment was not called, it repeats the previous observation after a
// description of the error in the answer.
func (w *worker) observe(s *slot, i int) {
	if !s.held {
		w.see(s, i)
	}
	shown := s.text
	if s.held && s.problem != "" && w.collector.cfg.Action.Explain {
		shown = s.problem + "\n\n" + s.text
	}
	s.t.Messages = append(s.t.Messages, rl.Message{Role: rl.RoleUser, Content: rl.Text(shown)})
	if !s.held || w.collector.cfg.Anchor == AnchorMessages {
		s.anchor = w.collector.anchorOf(s, w.reply.Anchor[i])
	}
}

// see stores what a policy sees of row i of the reply.
func (w *worker) see(s *slot, i int) {
	s.text = w.reply.Text[i]
	if !utf8.ValidString(s.text) {
		s.text = strings.ToValidUTF8(s.text, "\uFFFD")
	}
	nf, na := w.spec.Features(), len(w.spec.Actions)
	s.features, s.mask = s.arena.observation(w.reply.Features[i*nf:(i+1)*nf], w.reply.Mask[i*na:(i+1)*na])
}

// finish stores the finished episode of s.
func (w *worker) finish(s *slot, reason rl.StopReason) {
	s.t.StopReason = reason
	w.budget.Progressed()
	w.leave(s)
}

// leave stores the episode of s and frees the slot.
func (w *worker) leave(s *slot) {
	w.queue.finish(s.job, s.t)
	s.clear()
	w.busy--
}
