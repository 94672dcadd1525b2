package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// phase is what a slot waits for.
type phase byte

const (
	idle      phase = iota // an episode
	starting               // the environment's reset
	repeating              // the environment's answer to a step of the episode that a branch leaves
	deciding               // the policy
	acting                 // the environment's answer
	valuing                // the critic's estimate of the final observation
)

// slot is one slot of a vectorized environment and the episode in it.
type slot struct {
	phase phase
	job   job
	began time.Time
	t     *rl.Trajectory
	arena arena

	text     string // the current observation
	anchor   string
	features []float32
	mask     []byte
	chain    chain
	tokens   []int32 // the conversation as the policy sampled it …
	covered  int     // … and how many messages that is

	asked    *request // the decision in progress, if each slot advances on its own
	decision policy.Decision
	count    int    // messages that the decision saw
	held     bool   // the answer named no action, so the environment was not called
	problem  string // why, where the answer of a language model did
	invalid  int    // such answers in a row
	info     map[string]json.RawMessage
	task     rl.Task // what the episode starts from, according to the environment

	repeated int    // steps of the episode that a branch leaves that are done again
	next     *job   // the next branch from the same state
	saved    *saved // the state where it begins, if the environment saves states
}

// clear frees s for its next episode.
func (s *slot) clear() { *s = slot{next: s.next, saved: s.saved} }

// begin puts a new episode into s.
func (s *slot) begin(j job, t *rl.Trajectory, chunk int, now time.Time) {
	*s = slot{phase: starting, job: j, t: t, began: now, arena: arena{rows: chunk + 1}, next: j.next, saved: s.saved}
	t.Messages = make([]rl.Message, 0, 2*chunk+2)
	t.Steps = make([]rl.Step, 0, chunk)
}

// waits reports whether s needs a decision that has not been requested.
func (s *slot) waits() bool {
	return (s.phase == deciding || s.phase == valuing) && s.asked == nil
}

// due reports whether s needs the environment.
func (s *slot) due() bool { return s.phase == starting || s.phase == repeating || s.phase == acting }

// submit writes the decided action into row i of a batch and into the
// conversation.
func (s *slot) submit(spec *env.Spec, batch *env.Batch, i int) {
	a := &s.decision.Action
	s.held = s.problem != ""
	batch.Ops[i] = env.Step
	switch {
	case s.held:
		batch.Ops[i] = env.Skip
	case len(spec.Actions) == 0:
		batch.Texts[i] = a.Text
		if a.Kind == rl.ActionTool {
			batch.Texts[i] = toolText(a.ToolCalls)
		}
	case a.Kind == rl.ActionChoice:
		a.Text = spec.Actions[a.Choice]
		batch.Actions[i] = int32(a.Choice)
	default:
		named := slices.Index(spec.Actions, strings.TrimSpace(a.Text))
		if s.held = named < 0; s.held {
			named, batch.Ops[i] = 0, env.Skip
		}
		a.Choice, batch.Actions[i] = named, int32(named)
	}
	s.invalid++
	if !s.held {
		s.invalid = 0
	}
	s.say()
}

// say appends the policy's output to the conversation.
func (s *slot) say() {
	s.count = len(s.t.Messages)
	s.t.Messages = append(s.t.Messages, rl.Message{
		Role: rl.RoleAssistant, Content: rl.Text(s.output()), ToolCalls: s.decision.Action.ToolCalls,
	})
}

// output returns the raw output of the policy if there is one, and otherwise the
// action.
func (s *slot) output() string {
	if s.decision.Raw != "" {
		return s.decision.Raw
	}
	return s.decision.Action.Text
}

// toolText is how tool calls reach an environment whose actions are text: the
// JSON list of them.
func toolText(calls []rl.ToolCall) string {
	text, err := json.Marshal(calls)
	if err != nil { // strings only: cannot fail
		panic(err)
	}
	return string(text)
}

// hear applies an event to the slot.
func (s *slot) hear(e *env.Event) error {
	switch e.Kind {
	case env.EventTask:
		task, err := rl.DecodeTask([]byte(e.Message))
		if s.phase != starting {
			err = errors.New("it comes after the start")
		}
		if err != nil {
			return fmt.Errorf("the task of slot %d is invalid: %w", e.Slot, err)
		}
		s.task = *task
	case env.EventMetric:
		return s.measure(e)
	case env.EventToolResult:
		s.t.Messages = append(s.t.Messages, rl.Message{
			Role: rl.RoleTool, Name: e.Name, Content: rl.Text(e.Message), ToolCallID: s.unanswered(e.Name),
		})
	case env.EventInfo:
		value := json.RawMessage(e.Message)
		if !json.Valid(value) {
			value, _ = json.Marshal(e.Message) // a string always has a JSON form
		}
		if s.info == nil {
			s.info = make(map[string]json.RawMessage)
		}
		s.info[e.Name] = value
	}
	return nil
}

// maxMetrics bounds the metric names of an episode.
const maxMetrics = 64

// measure stores a metric of the episode.
func (s *slot) measure(e *env.Event) error {
	var value float64
	if err := strictjson.Unmarshal([]byte(e.Message), &value); err != nil || e.Name == "" { // JSON has no numbers that are not finite
		return fmt.Errorf("the metric %q of slot %d needs a name and a finite number", e.Name, e.Slot)
	}
	if s.t.Metrics == nil {
		s.t.Metrics = make(map[string]float64)
	}
	if s.t.Metrics[e.Name] = value; len(s.t.Metrics) > maxMetrics {
		return fmt.Errorf("slot %d has more than %d metrics", e.Slot, maxMetrics)
	}
	return nil
}

// unanswered returns the id of the first call of the tool that has no result
// yet, and "" if there is none.
func (s *slot) unanswered(tool string) string {
	said := s.t.Messages[s.count:]
	for _, call := range s.decision.Action.ToolCalls {
		if call.Function.Name == tool && !slices.ContainsFunc(said, func(m rl.Message) bool { return m.ToolCallID == call.ID }) {
			return call.ID
		}
	}
	return ""
}

// record appends the step that the environment answered, or that ended the
// episode, to the trajectory.
func (s *slot) record(spec *env.Spec, version uint64, reward float64, flags env.Flag) *rl.Step {
	d := &s.decision
	step := rl.Step{
		Index:         len(s.t.Steps),
		MessageCount:  s.count,
		Anchor:        s.anchor,
		Available:     spec.Actions,
		Action:        d.Action,
		RawOutput:     d.Raw,
		LogProb:       d.LogProb,
		Entropy:       d.Entropy,
		Tokens:        d.Tokens,
		PolicyVersion: version - d.Lag,
		Policy:        s.arena.sampled(rl.Sampled{Features: s.features, Mask: s.mask, LogitMax: d.LogitMax}),
		EnvReward:     reward,
		Terminated:    flags&env.Terminated != 0,
		Truncated:     flags&(env.Truncated|env.Terminated) == env.Truncated,
		ActionValid:   flags&env.InvalidAction == 0 && !s.held,
		Held:          s.held,
	}
	if d.HasValue {
		step.Value = s.arena.value(d.Value)
	}
	if d.Prompt != nil {
		step.Prompt = rl.NewPrompt(s.tokens, d.Prompt)
		s.tokens, s.covered = step.Prompt.Sequence(s.tokens, d.Tokens), s.count+1
	}
	step.Info, s.info = informed(s.info, d.Info), nil
	s.t.Steps = append(s.t.Steps, step)
	return &s.t.Steps[step.Index]
}

// informed appends the policy's information about its decision to the
// environment's.
func informed(env, policy map[string]json.RawMessage) map[string]json.RawMessage {
	if env == nil {
		return policy
	}
	for name, value := range policy {
		if _, taken := env[name]; !taken {
			env[name] = value
		}
	}
	return env
}
