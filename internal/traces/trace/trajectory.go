package trace

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/rl"
)

// Names in a trajectory's metadata under which rewards find what a conversation
// does not show.
const (
	MetaSpans  = "spans"  // the spans but those of prompts and rewards
	MetaAgents = "agents" // the names of the agents, sorted
	MetaUsage  = "usage"  // of all calls of models: calls, prompt_tokens, completion_tokens
)

// Trajectory is the trace as rewards read it: one conversation with a step for
// each answered call of a model, in the order of their starts. What a call was
// given beyond the call before it of the same agent is added, then the answer;
// a history that was rewritten is added whole. With several agents a message
// of an assistant bears its agent's name. A step's info holds the span's id,
// name and times, and the agent. Where no answered call was recorded, the steps are what
// tools were run and what was answered or made.
func (t *Trace) Trajectory() *rl.Trajectory {
	out := &rl.Trajectory{ID: t.ID, Task: t.Task, Group: t.group(), GroundTruth: t.Metadata[MetaGroundTruth], StopReason: rl.StopTerminated}
	agents := t.Agents()
	before := map[string][]rl.Message{} // the conversation that an agent's last call was part of
	tokens := map[string][]int32{}
	var others []Span
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
		out.Messages = append(out.Messages, Added(before[s.Agent], s.Prompt.Messages)...)
		step := s.step(len(out.Steps), len(out.Messages), tokens)
		answer := *s.Prompt.Answer
		before[s.Agent] = append(slices.Clip(s.Prompt.Messages), answer)
		if len(agents) > 1 && answer.Name == "" {
			answer.Name = s.Agent
		}
		out.Messages = append(out.Messages, answer)
		out.Steps = append(out.Steps, step)
	}
	if len(out.Steps) == 0 {
		t.told(out, len(agents) > 1)
	} else {
		t.results(out)
	}
	if n := len(out.Steps); n > 0 {
		out.Steps[n-1].Terminated = true
	}
	out.Metadata = t.metadata(agents, others)
	return out
}

// step is the call as a step whose answer is message number at. Tokens are the
// sequence so far of each agent.
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

// Added returns what messages have beyond before, or all of them if they do not
// begin with before: a history that was rewritten.
func Added(before, messages []rl.Message) []rl.Message {
	if !begins(messages, before) {
		return messages
	}
	return messages[len(before):]
}

// begins reports whether messages begin with those that came before.
func begins(messages, before []rl.Message) bool {
	return len(messages) >= len(before) && slices.EqualFunc(messages[:len(before)], before, Same)
}

// Same compares what a model is given: agents put names and nulls where there
// were none.
func Same(a, b rl.Message) bool {
	return a.Role == b.Role && a.Content.Text() == b.Content.Text() && a.ToolCallID == b.ToolCallID &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y rl.ToolCall) bool { return x.Function == y.Function })
}

// JSON is for values that have a form in it: texts, and what was checked when it
// came.
func JSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("trace: %v", err))
	}
	return text
}
