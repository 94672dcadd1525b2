package prompt

import (
	"math"
	"strings"

	"github.com/merit-rl/merit/core/rl"
)

// Sampling configures the sampling of a model.
type Sampling struct {
	// Temperature is the sampling temperature; 0 takes the most likely answer.
	Temperature float64 `yaml:"temperature" json:"temperature" jsonschema:"minimum=0,maximum=2"`
	// MaxTokens is the largest number of tokens in an answer.
	MaxTokens int `yaml:"max_tokens" json:"max_tokens" jsonschema:"minimum=1,maximum=1048576"`
}

// Messages returns the input of the model for task with a prompt.
func Messages(place Place, text string, task *rl.Task) []rl.Message {
	messages := append([]rl.Message(nil), task.Messages...)
	if place == Template {
		for i := len(messages) - 1; i >= 0; i-- {
			if messages[i].Role == rl.RoleUser {
				messages[i].Content = rl.Text(strings.ReplaceAll(text, Input, messages[i].Content.Text()))
				return messages
			}
		}
		return append(messages, rl.Message{Role: rl.RoleUser, Content: rl.Text(strings.ReplaceAll(text, Input, ""))})
	}
	if len(messages) > 0 && messages[0].Role == rl.RoleSystem {
		// Many chat templates support only one system message.
		messages[0].Content = rl.Text(text + "\n\n" + messages[0].Content.Text())
		return messages
	}
	return append([]rl.Message{{Role: rl.RoleSystem, Content: rl.Text(text)}}, messages...)
}

// played returns the trajectory that a reward scores: the conversation with the answer, and
// the task's data for the reward.
func played(id string, messages []rl.Message, answer string, task *rl.Task) *rl.Trajectory {
	n := len(messages)
	return &rl.Trajectory{
		ID: id, Task: task.ID, Seed: task.Seed, Messages: append(messages[:n:n], rl.Message{Role: rl.RoleAssistant, Content: rl.Text(answer)}),
		GroundTruth: task.GroundTruth, Metadata: task.Metadata, StopReason: rl.StopTerminated,
		Steps: []rl.Step{{MessageCount: n, Action: rl.Action{Kind: rl.ActionText, Text: answer}, RawOutput: answer, Terminated: true, ActionValid: true}},
	}
}

// sampled returns the seed of a request.
func sampled(s rl.Seed) int64 { return int64(uint64(s) & math.MaxInt32) }
