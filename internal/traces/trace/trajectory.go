package trace

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/rl"
)

// Metadata keys of a trajectory under which rewards find what is not in the
// conversation.
const (
	MetaSpans  = "spans"  // the spans except those of prompts and rewards
	MetaAgents = "agents" // the names of the agents, sorted
	MetaUsage  = "usage"  // of all model calls: calls, prompt_tokens, completion_tokens
)

// Trajectory returns the trace as rewards read it: one conversation with a step for each
// answered model call, in the order of their starts. It adds the messages of a call that
// go beyond the same agent's previous call in its branch, then the answer, then the results of its tools
// that no call contains; it adds a rewritten history whole. With several agents, messages of an assistant have the agent's name. A step's
// info holds the span's id, name and times, and the agent. If no answered call was
// recorded, the steps are the tools that were run, and what agents answered or
// made.
func (t *Trace) Trajectory() *rl.Trajectory {
	out := &rl.Trajectory{ID: t.ID, Task: t.Task, Group: t.group(), GroundTruth: t.Metadata[MetaGroundTruth], StopReason: rl.StopTerminated}
	agents := t.Agents()
	var before Histories
	tokens := map[string][]int32{}
	var others []Span
	ran := t.ran()
	for i := range t.All {
		s := &t.All[i]
		if s.Kind != KindPrompt {
			if s.Kind != KindReward {
				others = append(others, *s)
			}
			continue
		}
		if s.Prompt.Answer == nil {
			continue
		}
		out.Messages = append(out.Messages, Added(before.Before(s), s.Prompt.Messages)...)
		step := s.step(len(out.Steps), len(out.Messages), tokens)
		answer := *s.Prompt.Answer
		before.Add(s)
		if len(agents) > 1 && answer.Name == "" {
			answer.Name = s.Agent
		}
		out.Messages = append(out.Messages, answer)
		out.Steps = append(out.Steps, step)
		out.Messages = append(out.Messages, said(s.after(), ran.results(t, i))...)
	}
	if len(out.Steps) == 0 {
		t.told(out, len(agents) > 1)
	}
	if n := len(out.Steps); n > 0 {
		out.Steps[n-1].Terminated = true
	}
	out.Metadata = t.metadata(agents, others)
	return out
}

// step returns the call as a step whose answer is message number at. tokens holds the
// token sequence of each agent so far.
func (s *Span) step(index, at int, tokens map[string][]int32) rl.Step {
	p := s.Prompt
	step := rl.Step{
		Index: index, MessageCount: at, RawOutput: p.Answer.Content.Text(), ActionValid: s.Status != StatusError,
		Action: rl.Action{Kind: rl.ActionText, Text: p.Answer.Content.Text()},
		Info:   s.info(),
	}
	if len(p.Answer.ToolCalls) > 0 {
		step.Action = rl.Action{Kind: rl.ActionTool, ToolCalls: p.Answer.ToolCalls}
	}
	for _, t := range p.Tokens {
		step.LogProb += t.LogProb
		if t.ID != nil {
			step.Tokens = append(step.Tokens, rl.Token{ID: *t.ID, LogProb: t.LogProb})
		}
	}
	if len(p.PromptTokens) > 0 && len(step.Tokens) > 0 && len(step.Tokens) == len(p.Tokens) {
		step.Prompt = rl.NewPrompt(tokens[s.Agent], p.PromptTokens)
		tokens[s.Agent] = step.Prompt.Sequence(tokens[s.Agent], step.Tokens)
	} else {
		step.Tokens = nil
	}
	return step
}

func (t *Trace) group() string {
	if g, ok := t.Metadata[MetaGroup]; ok {
		return MetaText(g)
	}
	return t.Task
}

func (t *Trace) metadata(agents []string, others []Span) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage, len(t.Metadata)+3)
	for name, value := range t.Metadata {
		if name != MetaGroundTruth && name != MetaGroup {
			m[name] = value
		}
	}
	if len(agents) > 0 {
		m[MetaAgents] = JSON(agents)
	}
	if len(others) > 0 {
		m[MetaSpans] = JSON(others)
	}
	if sum := t.spent(); sum != nil {
		m[MetaUsage] = JSON(sum)
	}
	return m
}

// Added returns the messages after the prefix before, or all messages if before is not
// a prefix, because the history was rewritten.
func Added(before, messages []rl.Message) []rl.Message {
	if !begins(messages, before) {
		return messages
	}
	return messages[len(before):]
}

// begins reports whether before is a prefix of messages.
func begins(messages, before []rl.Message) bool {
	return len(messages) >= len(before) && slices.EqualFunc(messages[:len(before)], before, Same)
}

// Same reports whether a model sees the same input: agents add names and nulls, which
// do not matter.
func Same(a, b rl.Message) bool {
	return a.Role == b.Role && a.Content.Text() == b.Content.Text() && a.ToolCallID == b.ToolCallID &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y rl.ToolCall) bool { return x.Function == y.Function })
}

// JSON marshals values that always have a JSON form: texts, and values that were
// checked on input.
func JSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("trace: %v", err))
	}
	return text
}

// said returns the messages that follow an answer: those of the trajectory that it is from, or
// else the results of its tools.
func said(after, results []rl.Message) []rl.Message {
	if len(after) > 0 {
		return after
	}
	return results
}
