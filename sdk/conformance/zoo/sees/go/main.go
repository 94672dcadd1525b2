// Package main sees what sees.py sees.
package main

import (
	"strconv"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

type digest uint32

func (d *digest) add(texts ...string) {
	for _, text := range texts {
		for i := range len(text) {
			*d = *d*31 + digest(text[i])
		}
		*d *= 31 // and a zero
	}
}

func score(r *reward.Rollout) reward.Result {
	var d digest
	for i := range r.Messages {
		m := &r.Messages[i]
		d.add(m.Role, m.Content, m.Name, m.ToolCallID)
		for _, c := range m.ToolCalls {
			d.add(c.ID, c.Name, c.Arguments, c.Type)
		}
		for _, f := range m.Fields {
			d.add(f.Key, m.Field(f.Key).Text)
		}
	}
	d.add(strconv.Itoa(r.PromptMessages), yes(r.PromptText), yes(r.CompletionText))
	for _, f := range r.Metadata {
		d.add(f.Key, r.Meta(f.Key).Text)
	}
	return reward.Score(float64(d))
}

func yes(b bool) string {
	if b {
		return "y"
	}
	return "n"
}
