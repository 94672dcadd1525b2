package action

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
)

// Bounds of the calls in an answer.
const (
	maxCalls = 64
	maxID    = 256 // bytes
)

// call makes an action of calls: of the calls themselves, or, where the
// environment's actions have names, of the name of the one function.
func (p *Parser) call(calls []rl.ToolCall) (rl.Action, string) {
	if len(calls) > maxCalls {
		return rl.Action{}, fmt.Sprintf("The answer has more than %d tool calls.", maxCalls)
	}
	calls = slices.Clone(calls)
	for i := range calls {
		if problem := p.checkCall(&calls[i]); problem != "" {
			return rl.Action{}, problem
		}
	}
	identify(calls)
	if p.names == nil {
		return rl.Action{Kind: rl.ActionTool, ToolCalls: calls}, ""
	}
	if len(calls) > 1 {
		return rl.Action{}, fmt.Sprintf("The answer has %d tool calls: call exactly one of %s.", len(calls), p.allowed)
	}
	action := p.names.action(p.names.lookup(calls[0].Function.Name))
	action.ToolCalls = calls
	return action, ""
}

// checkCall returns what is wrong with a call, or "". Missing arguments count as
// none.
func (p *Parser) checkCall(c *rl.ToolCall) string {
	f := &c.Function
	if c.Type == "" {
		c.Type = "function"
	}
	if strings.TrimSpace(f.Arguments) == "" {
		f.Arguments = "{}"
	}
	if c.Type != "function" || !utf8.ValidString(f.Name) || !utf8.ValidString(f.Arguments) {
		return "A tool call must call a function by its name, in UTF-8."
	}
	if p.cfg.Parse == Chat { // the environment reports other errors
		return empty(f.Name)
	}
	d := decode(f.Arguments, maxJSON)
	if d.err != nil {
		return fmt.Sprintf("The arguments of %s are broken JSON: %v.", quote(f.Name), d.err)
	}
	arguments, ok := d.value.(map[string]any)
	if !ok || !blank(f.Arguments[len(d.text):]) {
		return fmt.Sprintf("The arguments of %s must be one object of JSON.", quote(f.Name))
	}
	if p.tools != nil {
		if problem := p.tools.check(f.Name, arguments); problem != "" {
			return problem
		}
	}
	switch {
	case p.names == nil:
		return ""
	case p.names.lookup(f.Name) < 0:
		return noTool(f.Name, p.allowed)
	case len(arguments) > 0:
		return noArguments(f.Name)
	}
	return ""
}

func empty(name string) string {
	if name != "" {
		return ""
	}
	return "A tool call has no name: call a function by its name."
}

func noTool(name, allowed string) string {
	return fmt.Sprintf("There is no tool %s: call one of %s.", quote(name), allowed)
}

func noArguments(name string) string {
	return fmt.Sprintf("The tool %s takes no arguments: call it with {}.", quote(name))
}

// identify gives calls without an id, or with one that another has, an id that
// depends on what they call and on where they stand: nine letters and digits,
// the one form that all chat templates take.
func identify(calls []rl.ToolCall) {
	seen := make(map[string]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		if c.ID == "" || len(c.ID) > maxID || !utf8.ValidString(c.ID) || seen[c.ID] {
			h := fnv.New64a()
			io.WriteString(h, c.Function.Name+"\x00"+c.Function.Arguments)
			for s := rl.Seed(h.Sum64()).Child(uint64(i)); ; s = s.Child(0) {
				c.ID = shortID(s)
				if !seen[c.ID] {
					break
				}
			}
		}
		seen[c.ID] = true
	}
}

func shortID(s rl.Seed) string {
	const nine = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36
	text := strconv.FormatUint(uint64(s)%nine, 36)
	return strings.Repeat("0", 9-len(text)) + text
}
