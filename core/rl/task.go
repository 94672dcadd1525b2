package rl

import "encoding/json"

// Task is what an episode starts from.
type Task struct {
	ID          string                     `json:"id"`
	Seed        uint64                     `json:"seed,omitempty"`
	Messages    []Message                  `json:"messages,omitempty"` // the prompt
	GroundTruth json.RawMessage            `json:"ground_truth,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}
