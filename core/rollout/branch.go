package rollout

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// Branch is an episode that leaves another one at a step. Its first steps are copies of the other's.
// The environment is in the same state there, its own randomness included: a branch meets the
// same chances as the episode that it leaves.
type Branch struct {
	From   *rl.Trajectory // the episode that it leaves
	At     int            // the index of its first own step: 0 … len(From.Steps)−1
	Group  int            // of the plan, from 0
	Number int            // of the branch in its group, from 0: it determines the id and the randomness of the policy
	// Action is the first own action; nil = the policy decides.
	Action *rl.Action
	// Other means that the policy decides between the actions that From did not take.
	Other bool
	// Luck is the member whose randomness the policy has after the first own step; −1 = its own.
	Luck int
}

// Continue plays branches and returns them in order. To reach the state where a branch begins, it
// repeats the steps before; an environment that then answers otherwise is an error of the branch.
// Where the environment saves states, only the first of adjacent branches from one state needs
// that. Seed, FirstGroup, Members and Greedy of plan apply. Errors and progress are those of Collect.
func (c *Collector) Continue(ctx context.Context, plan Plan, branches []Branch, onProgress func(Progress)) ([]*rl.Trajectory, Stats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.workers[0]; w.env == nil { // whether it saves states decides which branches share a slot
		if err := w.start(ctx); err != nil {
			return nil, Stats{}, err
		}
	}
	return c.resume(ctx, plan, branches, Progress{}, onProgress)
}

func (c *Collector) resume(ctx context.Context, plan Plan, branches []Branch, earlier Progress, onProgress func(Progress)) ([]*rl.Trajectory, Stats, error) {
	for i := range branches {
		if err := branches[i].check(); err != nil {
			return nil, Stats{Progress: earlier}, err
		}
	}
	jobs := c.chained(plan, branches)
	q := newQueue(plan, jobs, len(branches), c.cfg.Retries, earlier, onProgress)
	if len(jobs) == 0 {
		return nil, q.stats(), nil
	}
	err := c.play(ctx, q)
	return q.episodes, q.stats(), err
}

func (b *Branch) check() error {
	what, hint := "", fmt.Sprintf("use a step from 0 to %d", len(b.From.Steps)-1)
	switch {
	case len(b.From.Steps) == 0:
		what, hint = "the episode has no steps", "use an episode that has some"
	case b.At < 0 || b.At >= len(b.From.Steps):
		what = fmt.Sprintf("the episode has no step %d", b.At)
	case b.Other && len(b.From.Steps[b.At].Available) < 2:
		what, hint = fmt.Sprintf("step %d had no other action", b.At), "use a step that listed several actions"
	default:
		return nil
	}
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: b.From.ID, What: what, Hint: hint}
}

// chained returns the jobs of branches. Where the environment saves states, branches from one
// state are a chain for one slot, unless that left other slots without work.
func (c *Collector) chained(plan Plan, branches []Branch) []job {
	most := 1
	if w := c.workers[0]; w.env != nil && w.spec.Snapshots {
		slots := len(c.workers) * w.spec.Slots
		most = (len(branches) + slots - 1) / slots
	}
	jobs := make([]job, len(branches))
	for i := range branches {
		b := &branches[i]
		jobs[i] = job{index: i, group: b.Group, member: plan.Members + b.Number, branch: b}
	}
	var heads []job
	for i := 0; i < len(jobs); {
		n := 1
		for n < most && i+n < len(jobs) && branches[i].together(&branches[i+n]) {
			jobs[i+n-1].next = &jobs[i+n]
			n++
		}
		heads = append(heads, jobs[i])
		i += n
	}
	return heads
}

// together reports whether b and other leave the same state.
func (b *Branch) together(other *Branch) bool { return b.From == other.From && b.At == other.At }

// begin returns the trajectory of b before it is played.
func (b *Branch) begin(number int) *rl.Trajectory {
	return &rl.Trajectory{
		ID: b.From.Group + "-b" + strconv.Itoa(number), Group: b.From.Group, Task: b.From.Task, Seed: b.From.Seed,
		GroundTruth: b.From.GroundTruth, Metadata: maps.Clone(b.From.Metadata),
		BranchOf: b.From.ID, BranchAt: b.At, Messages: []rl.Message{},
	}
}

// saved is the state in which branches begin.
type saved struct {
	branch   *Branch // the first of them
	bytes    []byte
	metrics  map[string]float64
	text     string
	features []float32
	mask     []byte
}

// follow sends the slot of a branch, whose environment is in the state of the start, to where
// the branch begins.
func (w *worker) follow(ctx context.Context, s *slot, i int) {
	s.t.Metadata = maps.Clone(s.job.branch.From.Metadata)
	s.repeated, s.phase = 0, repeating
	if s.job.branch.At == 0 {
		w.arrive(ctx, s, i)
	}
}

// repeat writes the next step of the episode that the branch leaves into row i of a batch.
func (s *slot) repeat(spec *env.Spec, batch *env.Batch, i int) {
	step := &s.job.branch.From.Steps[s.repeated]
	if s.held = step.Held; !s.held {
		batch.Ops[i], batch.Actions[i] = env.Step, 0
		switch {
		case len(spec.Actions) > 0 && step.Action.Kind != rl.ActionChoice: // a text that names one
			batch.Actions[i] = int32(max(0, slices.Index(spec.Actions, step.Action.Text)))
		case len(spec.Actions) > 0:
			batch.Actions[i] = int32(min(max(0, step.Action.Choice), len(spec.Actions)-1))
		case step.Action.Kind == rl.ActionTool:
			batch.Texts[i] = toolText(step.Action.ToolCalls)
		default:
			batch.Texts[i] = step.Action.Text
		}
	}
}

// compare takes the environment's answer to a repeated step.
func (w *worker) compare(ctx context.Context, s *slot, i int, flags env.Flag) {
	b := s.job.branch
	step := &b.From.Steps[s.repeated]
	if s.repeated++; !step.Held {
		w.see(s, i)
		why := ""
		switch want := b.From.Steps[s.repeated].Anchor; {
		case w.reply.Reward[i] != step.EnvReward:
			why = fmt.Sprintf("the reward was %v and is %v now", step.EnvReward, w.reply.Reward[i])
		case flags&(env.Terminated|env.Truncated) != 0:
			why = "the episode ends there now"
		case want != "" && w.collector.cfg.Anchor != AnchorMessages && w.collector.anchorOf(s, w.reply.Anchor[i]) != want:
			why = "the state after it is another one now"
		}
		if why != "" {
			w.lose(s, w.changed(b, step.Index, why), told)
			return
		}
	}
	if s.repeated == b.At {
		w.arrive(ctx, s, i)
	}
}

// changed is the error of an environment that does not repeat an episode.
func (w *worker) changed(b *Branch, step int, why string) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Differs, Where: w.spec.Name,
		What: fmt.Sprintf("it does not repeat %s: at step %d, %s", b.From.ID, step, why),
		Hint: "make its answers depend on the seed and the actions alone, and use the version and the options that the episode was played with",
	}
}

// arrive begins the own part of a branch, whose environment is in the state where it leaves the
// other episode, and saves that state if other branches begin there.
func (w *worker) arrive(ctx context.Context, s *slot, i int) {
	w.queue.repeats(s.job.branch.At)
	s.saved = nil
	if e, ok := w.env.(env.Snapshotter); ok && w.spec.Snapshots && s.next != nil {
		if state, err := e.Snapshot(ctx, i); err == nil { // else the others repeat the steps
			s.saved = &saved{s.job.branch, bytes.Clone(state), maps.Clone(s.t.Metrics), s.text, s.features, s.mask}
		}
	}
	w.inherit(s)
}

// restore puts the slot of a branch into the state that was saved for it, if there is one.
func (w *worker) restore(ctx context.Context, s *slot, i int) {
	from := s.saved
	if b := s.job.branch; b == nil || from == nil || !from.branch.together(b) {
		s.saved = nil
		return
	}
	if err := w.env.(env.Snapshotter).Restore(ctx, i, from.bytes); err != nil {
		s.saved = nil // it repeats the steps
		return
	}
	s.t.Metrics = maps.Clone(from.metrics)
	s.text, s.features, s.mask = from.text, from.features, from.mask
	w.inherit(s)
}

// inherit gives s the conversation and the steps of the episode that the branch leaves.
func (w *worker) inherit(s *slot) {
	from, at := s.job.branch.From, s.job.branch.At
	s.t.Steps = append(s.t.Steps[:0], from.Steps[:at]...)
	s.t.Messages = append(s.t.Messages[:0], from.Messages[:from.Steps[at].MessageCount]...)
	s.invalid = 0
	for k := range s.t.Steps {
		step := &s.t.Steps[k]
		step.Credit = nil
		if s.invalid++; !step.Held {
			s.invalid = 0
		}
		if step.Prompt != nil {
			s.tokens, s.covered = step.Prompt.Sequence(s.tokens, step.Tokens), step.MessageCount+1
		}
	}
	if w.collector.cfg.Anchor == AnchorMessages {
		for k := range from.Steps[:at+1] {
			s.anchor = s.chain.extend(from.Observation(k))
		}
	}
	if own := from.Steps[at].Anchor; own != "" {
		s.anchor = own
	}
	if s.job.branch.Other {
		s.mask = without(s.mask, from.Steps[at].Action.Choice)
	}
	s.phase = deciding
}

// without returns a mask of actions that also excludes one.
func without(mask []byte, action int) []byte {
	mask = bytes.Clone(mask)
	if action >= 0 && action < len(mask) {
		mask[action] = 0
	}
	return mask
}

// prescribe makes the first own action of a branch its decision, if the plan says which it is.
func (s *slot) prescribe() {
	b := s.job.branch
	if s.phase == deciding && b != nil && b.Action != nil && len(s.t.Steps) == b.At {
		s.decision, s.problem, s.phase = policy.Decision{Action: *b.Action}, "", acting
	}
}
