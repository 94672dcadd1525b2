// Package main is a reward for tool calls; calls.py says the same in Python.
package main

import (
	"encoding/json"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

func score(r *reward.Rollout) reward.Result {
	calls, good := 0, 0
	for _, message := range r.Assistants() {
		for _, call := range message.ToolCalls {
			calls++
			if valid(call) {
				good++
			}
		}
	}
	if calls == 0 {
		return reward.Score(0)
	}
	return reward.Score(float64(good) / float64(calls))
}

func valid(call reward.ToolCall) bool {
	var arguments map[string]json.RawMessage
	if json.Unmarshal([]byte(call.Arguments), &arguments) != nil {
		return false
	}
	_, ok := arguments["city"]
	return ok && call.Name == "weather"
}
