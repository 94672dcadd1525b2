package action_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/action"
)

const thought = "The goal is to the north of the wall, and the box must not be pushed into a corner. "

// Promise: finding a name in an answer costs no memory.
func TestNamesCostNoMemory(t *testing.T) {
	for name, change := range map[string]func(*action.Config){
		"none":   func(*action.Config) {},
		"choice": func(c *action.Config) { c.Parse, c.IgnoreCase = action.Choice, true },
		"after":  func(c *action.Config) { c.Parse, c.After = action.Choice, "</think>" },
	} {
		p, answer := parser(t, moves, "", change), "</think>up"
		if name == "none" {
			answer = " up"
		}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if _, problem := p.Parse(answer, nil); problem != "" {
				t.Error(problem)
			}
		}), name)
	}
}

func BenchmarkParse(b *testing.B) {
	answer := strings.Repeat(thought, 4)
	for _, c := range []struct {
		name, answer string
		p            *action.Parser
	}{
		{"none", "up", parser(b, moves, "", func(*action.Config) {})},
		{"choice", answer + "I go up.", parser(b, moves, "", func(c *action.Config) { c.Parse = action.Choice })},
		{"fold", answer + "I go UP.", parser(b, moves, "", func(c *action.Config) { c.Parse, c.IgnoreCase = action.Choice, true })},
		{"after", answer + "</think>up", parser(b, moves, "", func(c *action.Config) { c.Parse, c.After = action.Choice, "</think>" })},
		{"regex", answer + "Move: up", parser(b, moves, "", func(c *action.Config) { c.Parse, c.Pattern = action.Regex, `Move: (\w+)` })},
		{"json_schema", answer + `{"move":"up","n":3}`, parser(b, moves, "", schema(object{"required": []any{"move"}, "properties": object{"n": object{"type": "integer"}}}, "move", action.Only))},
		{"tool_calls", answer + write("move", `{"to":"N"}`), parser(b, nil, tools, useTools)},
		{"invalid", answer, parser(b, moves, "", func(c *action.Config) { c.Parse = action.Choice })},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.p.Parse(c.answer, nil)
			}
		})
	}
}
