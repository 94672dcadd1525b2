package conformance

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/rl"
)

// large returns the cases that are too large to commit.
func large() []Case {
	one := func(name string, t *rl.Trajectory) Case {
		t.ID = name
		return Case{Name: name, Members: []*rl.Trajectory{t}}
	}
	return []Case{
		one("1,000 messages", &rl.Trajectory{Messages: messages(1000)}),
		one("content of 1 MB", &rl.Trajectory{Messages: []rl.Message{
			{Role: rl.RoleUser, Content: rl.Text("How long?")},
			{Role: rl.RoleAssistant, Content: rl.Text(strings.Repeat("Čím dál tím víc 🜁.\n", 1<<20/25+1)[:1<<20])},
		}}),
		one("1,000 tool calls in a message", &rl.Trajectory{Messages: []rl.Message{
			{Role: rl.RoleAssistant, ToolCalls: toolCalls(1000)},
		}}),
		one("500 entries of metadata", &rl.Trajectory{Metadata: metadata(500)}),
		one("300 steps", &rl.Trajectory{Messages: messages(601), Steps: steps(300)}),
		{Name: "group of 64", Group: true, Members: members(64)},
		// The last case is small again: it shows that large ones leave nothing.
		one("small after large", &rl.Trajectory{Messages: messages(3), Steps: steps(1)}),
	}
}

func messages(n int) []rl.Message {
	list := make([]rl.Message, n)
	for i := range list {
		list[i] = rl.Message{Role: rl.RoleUser, Content: rl.Text(fmt.Sprintf("Turn %d: %s", i, strings.Repeat("ab", i%50)))}
		if i%2 == 1 {
			list[i].Role = rl.RoleAssistant
		}
		if i%20 == 1 {
			list[i].ToolCalls = toolCalls(2)
		}
	}
	return list
}

func toolCalls(n int) []rl.ToolCall {
	list := make([]rl.ToolCall, n)
	for i := range list {
		list[i] = rl.ToolCall{
			ID: fmt.Sprintf("call-%d", i), Type: "function",
			Function: rl.FunctionCall{Name: fmt.Sprintf("tool_%d", i%7), Arguments: fmt.Sprintf(`{"i": %d}`, i)},
		}
	}
	return list
}

func metadata(n int) map[string]json.RawMessage {
	values := []string{`%d`, `"text %d"`, `true`, `null`, `[%d]`, `-0.%d5`}
	m := map[string]json.RawMessage{}
	for i := range n {
		v := values[i%len(values)]
		if strings.Contains(v, "%d") {
			v = fmt.Sprintf(v, i)
		}
		m[fmt.Sprintf("key %d", i)] = json.RawMessage(v)
	}
	return m
}

func steps(n int) []rl.Step {
	list := make([]rl.Step, n)
	for i := range list {
		list[i] = rl.Step{
			Index: i, MessageCount: 2*i + 1, Anchor: fmt.Sprintf("state %d", i%11), EnvReward: float64(i) / 8,
			Action: rl.Action{Kind: rl.ActionChoice, Choice: i % 4, Text: "up"}, ActionValid: i%3 > 0, Truncated: i == n-1,
		}
	}
	return list
}

func members(n int) []*rl.Trajectory {
	list := make([]*rl.Trajectory, n)
	for i := range list {
		list[i] = &rl.Trajectory{
			ID: fmt.Sprintf("member %d", i), Group: "large group", Task: "task", Messages: messages(i % 9),
			GroundTruth: json.RawMessage(fmt.Sprint(i)), Metadata: metadata(i % 5),
		}
	}
	return list
}
