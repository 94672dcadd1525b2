package rl

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Task is what an episode starts from.
type Task struct {
	ID          string                     `json:"id"`
	Seed        uint64                     `json:"seed,omitempty"`
	Messages    []Message                  `json:"messages,omitempty"` // the prompt
	GroundTruth json.RawMessage            `json:"ground_truth,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

// DecodeTask reads a task from its JSON and checks that each message has a role.
func DecodeTask(text []byte) (*Task, error) {
	t := new(Task)
	if err := strictjson.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("not a task: %w", err)
	}
	for i, m := range t.Messages {
		if m.Role == "" {
			return nil, fmt.Errorf("messages[%d] has no role", i)
		}
	}
	return t, nil
}
