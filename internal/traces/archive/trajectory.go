package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/interchange"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Trace converts a trajectory to a trace: one model call for each step (without
// steps, for each message of the assistant), the spans in its metadata, and its
// evaluation as a reward. Times come from the steps; otherwise they are at, a
// microsecond apart. The same trajectory gives the same spans.
func Trace(t *rl.Trajectory, at time.Time) (*trace.Trace, error) {
	out := &trace.Trace{Head: trace.Head{ID: id(t.ID), Task: t.Task, Status: trace.StatusOK, Metadata: map[string]json.RawMessage{}}}
	if t.StopReason == rl.StopError {
		out.Status = trace.StatusError
	}
	for name, value := range t.Metadata {
		if name != trace.MetaSpans && name != trace.MetaAgents && name != trace.MetaUsage {
			out.Metadata[name] = value
		}
	}
	if value := t.Metadata[interchange.MetaATIF]; value != nil {
		out.Metadata[interchange.MetaATIF] = interchange.WithoutTokens(value)
	}
	if len(t.GroundTruth) > 0 {
		out.Metadata[trace.MetaGroundTruth] = t.GroundTruth
	}
	if t.Group != "" && t.Group != t.Task {
		out.Metadata[trace.MetaGroup] = trace.JSON(t.Group)
	}
	if out.ID != t.ID {
		out.Metadata["trajectory"] = trace.JSON(t.ID)
	}
	told := map[string]bool{} // spans from which the conversation was made, if it had no calls
	if text, ok := t.Metadata[trace.MetaSpans]; ok {
		var others []trace.Span
		if err := strictjson.Unmarshal(text, &others); err != nil {
			return nil, fmt.Errorf("metadata.spans is not a list of spans: %w", err)
		}
		for _, s := range others {
			s.Trace, told[s.ID] = out.ID, true
			out.All = append(out.All, s)
		}
	}
	calls(t, out, at, told)
	if len(out.All) == 0 {
		out.All = append(out.All, unanswered(t, out, at))
	}
	if t.Outcome != "" {
		out.All = append(out.All, evaluation(t, out.ID, at.Add(time.Duration(len(out.All))*time.Microsecond)))
	}
	return out, out.Settle()
}

// calls adds the steps of t as calls to out, except those that it has, and to the last call of
// each agent the messages that follow.
func calls(t *rl.Trajectory, out *trace.Trace, at time.Time, told map[string]bool) {
	tokens := map[string][]int32{} // the sequence of each agent so far
	split := apart(t)
	last := map[string]int{} // the number of each agent's last call among the spans
	ends := map[string]int{} // the number of the message after its answer
	for i, step := range steps(t) {
		s := call(t, out.ID, i, step, at.Add(time.Duration(i)*time.Microsecond), tokens, split)
		if told[s.ID] {
			continue
		}
		out.All = append(out.All, s)
		name := s.Agent
		if !split {
			name = ""
		}
		last[name], ends[name] = len(out.All)-1, step.MessageCount+1
	}
	for name, i := range last {
		after := seen(t.Messages[ends[name]:], name, split)
		if len(after) == 0 {
			continue
		}
		if out.All[i].Attributes == nil {
			out.All[i].Attributes = map[string]json.RawMessage{}
		}
		out.All[i].Attributes[trace.AttrAfter] = trace.JSON(after)
	}
}

// unanswered returns the call of a trajectory in which no model answered.
func unanswered(t *rl.Trajectory, out *trace.Trace, at time.Time) trace.Span {
	return trace.Span{
		Trace: out.ID, ID: "unanswered", Kind: trace.KindPrompt, Name: "unanswered", Start: at, End: at, Status: out.Status, Error: t.Error,
		Prompt: &trace.Prompt{Messages: t.Messages},
	}
}

// steps returns the steps of t, or one for each message of the assistant if t has none.
func steps(t *rl.Trajectory) []rl.Step {
	if len(t.Steps) > 0 {
		return t.Steps
	}
	var steps []rl.Step
	for i := range t.Messages {
		if t.Messages[i].Role == rl.RoleAssistant {
			steps = append(steps, rl.Step{Index: len(steps), MessageCount: i, ActionValid: true})
		}
	}
	return steps
}

// call returns step number i as a model call. tokens holds the sequence of each agent so far.
func call(t *rl.Trajectory, id string, i int, step rl.Step, at time.Time, tokens map[string][]int32, split bool) trace.Span {
	answer := t.Messages[step.MessageCount]
	s := trace.Span{Trace: id, ID: fmt.Sprintf("step-%04d", i), Kind: trace.KindPrompt, Start: at, End: at, Status: trace.StatusOK, Agent: answer.Name}
	if !step.ActionValid {
		s.Status, s.Error = trace.StatusError, "no valid action"
	}
	known := func(name string, to any) { _ = strictjson.Unmarshal(step.Info[name], to) } // missing fields keep their values
	known("span", &s.ID)
	known("agent", &s.Agent)
	known("name", &s.Name)
	known("start", &s.Start)
	s.End = s.Start
	known("end", &s.End)
	known("parent", &s.Parent)
	s.Prompt = &trace.Prompt{Messages: seen(t.Messages[:step.MessageCount:step.MessageCount], s.Agent, split), Answer: &answer}
	for _, token := range step.Tokens {
		s.Prompt.Tokens = append(s.Prompt.Tokens, trace.Token{ID: new(token.ID), LogProb: token.LogProb})
	}
	if p := step.Prompt; p != nil && p.Keep >= 0 && p.Keep <= len(tokens[s.Agent]) {
		sequence := p.Sequence(slices.Clone(tokens[s.Agent]), step.Tokens)
		s.Prompt.PromptTokens = sequence[:len(sequence)-len(step.Tokens)]
		tokens[s.Agent] = sequence
	}
	s.Attributes = notes(step.Info)
	used(&s, step.Info[interchange.InfoUsage])
	return s
}

// used sets the number of tokens that a call took.
func used(s *trace.Span, text json.RawMessage) {
	var took struct {
		Prompt     *int64 `json:"prompt_tokens"`
		Completion *int64 `json:"completion_tokens"`
		Cached     *int64 `json:"cached_tokens"`
	}
	if strictjson.Unmarshal(text, &took) != nil || took.Prompt == nil && took.Completion == nil {
		return // absent, or of an environment
	}
	s.Prompt.Usage = new(trace.Usage)
	if took.Prompt != nil {
		s.Prompt.Usage.PromptTokens = max(*took.Prompt, 0)
	}
	if took.Completion != nil {
		s.Prompt.Usage.CompletionTokens = max(*took.Completion, 0)
	}
	if took.Cached != nil {
		if s.Attributes == nil {
			s.Attributes = map[string]json.RawMessage{}
		}
		s.Attributes[trace.AttrCacheRead] = trace.JSON(*took.Cached)
	}
}

// WithUsage adds to each step the number of tokens that its call took, which ATIF has members for.
func WithUsage(t *trace.Trace, told *rl.Trajectory) {
	calls := map[string]*trace.Span{}
	for i := range t.All {
		if s := &t.All[i]; s.Kind == trace.KindPrompt && s.Prompt.Usage != nil {
			calls[string(trace.JSON(s.ID))] = s
		}
	}
	for i := range told.Steps {
		info := told.Steps[i].Info
		if s := calls[string(info["span"])]; s != nil {
			info[interchange.InfoUsage] = trace.JSON(struct {
				trace.Usage
				Cached json.RawMessage `json:"cached_tokens,omitempty"`
			}{*s.Prompt.Usage, s.Attributes[trace.AttrCacheRead]})
		}
	}
}

// apart reports whether t has several agents and each message the name of one: then an
// agent saw only its own messages.
func apart(t *rl.Trajectory) bool {
	agents := map[string]bool{}
	for i := range t.Steps {
		var name string
		if strictjson.Unmarshal(t.Steps[i].Info["agent"], &name) == nil {
			agents[name] = true
		}
	}
	return len(agents) > 1 && !slices.ContainsFunc(t.Messages, func(m rl.Message) bool { return !agents[m.Name] })
}

// seen returns the messages of all that an agent saw.
func seen(all []rl.Message, agent string, split bool) (own []rl.Message) {
	if !split {
		return all
	}
	for _, m := range all {
		if m.Name == agent {
			own = append(own, m)
		}
	}
	return own
}

// notes returns what an environment attached to a step, as an attribute.
func notes(info map[string]json.RawMessage) map[string]json.RawMessage {
	info = maps.Clone(info)
	for _, name := range []string{"span", "parent", "agent", "name", "start", "end", interchange.InfoUsage} { // of the span itself
		delete(info, name)
	}
	if len(info) == 0 {
		return nil
	}
	return map[string]json.RawMessage{trace.AttrInfo: trace.JSON(info)}
}

// evaluation returns the evaluation of t as a reward span.
func evaluation(t *rl.Trajectory, id string, at time.Time) trace.Span {
	s := trace.Span{
		Trace: id, ID: "evaluation", Kind: trace.KindReward, Name: "evaluation", Start: at, End: at, Status: trace.StatusOK,
		Reward: &trace.Reward{Outcome: t.Outcome, Result: t.Evaluation},
	}
	if t.Outcome == "scored" && t.Evaluation != nil {
		s.Reward.Score = new(t.Evaluation.Score)
	}
	return s
}

// id returns name if it is a valid id, otherwise an id derived from it.
func id(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r) {
			return r
		}
		return '-'
	}, name)
	if clean == name && len(name) <= trace.MaxID {
		return cmp.Or(name, "trajectory")
	}
	sum := sha256.Sum256([]byte(name))
	return clean[:min(len(clean), 64)] + "-" + hex.EncodeToString(sum[:8])
}
