package lineage

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// fitting returns the states that a call may continue: those of the trace and of the
// agent that it names.
func (t *Tree) fitting(c *Call, there []*visit) []*visit {
	return slices.DeleteFunc(slices.Clone(there), func(v *visit) bool {
		return c.Trace != "" && v.trace != c.Trace || v.agent != c.Agent
	})
}

// continued returns the state that a call continues, or nil. If several conversations
// reached the same state through the same answers, each is continued once before any is
// continued twice. If their answers differ, it returns nil. exact is false if the answer
// was changed.
func (t *Tree) continued(c *Call, keys []Key) (v *visit, exact bool) {
	for i := len(keys) - 2; i >= 0; i-- {
		there, _ := t.answered.get(keys[i])
		if there = t.fitting(c, there); len(there) > 0 {
			return next(there), true
		}
		there, _ = t.asked.get(keys[i])
		if there = t.fitting(c, there); len(there) > 0 && !slices.ContainsFunc(there, func(v *visit) bool { return v.trace != there[0].trace }) {
			return there[len(there)-1], false
		}
	}
	return nil, false
}

func next(there []*visit) *visit {
	if i := slices.IndexFunc(there, func(v *visit) bool { return !v.continued }); i >= 0 {
		return there[i]
	}
	return there[len(there)-1]
}

// begins returns the branch of a call that continues no conversation, if it belongs to a
// trace nevertheless.
func (t *Tree) begins(c *Call, keys []Key) *branch {
	if n := len(keys); n > 0 && c.Trace != "" {
		there, _ := t.asked.get(keys[n-1])
		if there = t.fitting(c, there); len(there) > 0 {
			from := there[0].branch
			return t.leave(c, from, Retry, from.parent)
		}
	}
	if c.Agent != "" {
		if b := t.ofAgent(c); b != nil {
			return b
		}
	}
	if a := t.spawned(c); a != nil {
		kind := Subagent
		if a.taken {
			kind = Retry
		}
		a.taken = true
		return t.leave(c, a.from, kind, a.Span)
	}
	if q := t.quoted(c); q != nil {
		return t.leave(c, q.branch, Compaction, q.span)
	}
	if trunk, ok := t.trunks.get(c.Trace); ok && c.Compact {
		return t.leave(c, trunk, Compaction, trunk.last)
	}
	return nil
}

// ofAgent returns the branch of a sub-agent that its harness names.
func (t *Tree) ofAgent(c *Call) *branch {
	if before, ok := t.agents.get(c.Trace + "\x00" + c.Agent); ok {
		return t.leave(c, before, Compaction, before.last)
	}
	if a := t.spawned(c); a != nil {
		a.taken = true
		return t.leave(c, a.from, Subagent, a.Span)
	}
	boss, ok := t.agents.get(c.Trace + "\x00" + c.Boss)
	if !ok {
		boss, ok = t.trunks.get(c.Trace)
	}
	if !ok {
		return nil
	}
	return t.leave(c, boss, Subagent, boss.last)
}

// least is the least number of bytes of a text that shows where a conversation comes
// from. Shorter texts occur in conversations that have nothing to do with each other.
const (
	least     = 24
	leastLine = 40
	leastSum  = 80
)

// spawned returns the open call of a tool that has the first message of a call among its
// arguments, if all such calls belong to one trace.
func (t *Tree) spawned(c *Call) *Asked {
	var all []*Asked
	for _, text := range first(c.Messages) {
		there, _ := t.spawns.get(c.Scope.With("spawn", text))
		for _, a := range there {
			if a.open && (c.Trace == "" || a.from.trace == c.Trace) {
				all = append(all, a)
			}
		}
	}
	if len(all) == 0 || slices.ContainsFunc(all, func(a *Asked) bool { return a.from.trace != all[0].from.trace }) {
		return nil
	}
	if i := slices.IndexFunc(all, func(a *Asked) bool { return !a.taken }); i >= 0 {
		return all[i]
	}
	return all[len(all)-1]
}

// first returns the texts of the messages before the first answer, and of their parts.
func first(messages []rl.Message) (all []string) {
	for i := range messages {
		m := &messages[i]
		if m.Role == rl.RoleAssistant {
			break
		}
		if m.Role == rl.RoleSystem || m.Role == rl.RoleDeveloper {
			continue
		}
		all = append(all, m.Content.Text())
		var parts []rl.Part
		if raw := m.Content.Parts(); raw != nil && strictjson.Unmarshal(raw, &parts) == nil {
			for _, p := range parts {
				all = append(all, p.Text)
			}
		}
	}
	return telling(all, least)
}

// telling returns the different trimmed texts of a sufficient length.
func telling(all []string, least int) (kept []string) {
	for _, text := range all {
		if text = strings.TrimSpace(text); len(text) >= least && !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	return kept
}

// texts returns the texts among the arguments of a call of a tool.
func texts(arguments string) []string {
	var v any
	if strictjson.Unmarshal([]byte(arguments), &v) != nil {
		return nil
	}
	const most = 64
	var all []string
	for open := []any{v}; len(open) > 0 && len(all) < most; {
		v, open = open[len(open)-1], open[:len(open)-1]
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			open = append(open, v...)
		case map[string]any:
			for _, v := range v {
				open = append(open, v)
			}
		}
	}
	slices.Sort(all)
	return telling(all, least)
}

// quote is an answer that a summary may be.
type quote struct {
	*branch
	span string
	head [32]byte
}

// headOf returns a digest of what a conversation keeps when its history is replaced: the
// system prompt and the tools.
func headOf(messages []rl.Message, tools json.RawMessage) [32]byte {
	h := sha256.New()
	for i := range messages {
		if m := &messages[i]; m.Role == rl.RoleSystem || m.Role == rl.RoleDeveloper {
			text, _ := input(m)
			h.Write([]byte(text))
			h.Write([]byte{0})
		}
	}
	h.Write(tools)
	return [32]byte(h.Sum(nil))
}

// quote remembers the lines of an answer of an agent that has tools.
func (t *Tree) quote(c *Call, p *Place, answer *rl.Message) {
	if len(c.Tools) == 0 {
		return
	}
	lines := lines(answer.Content.Text())
	if len(lines) == 0 {
		return
	}
	q := &quote{p.branch, c.Span, headOf(c.Messages, c.Tools)}
	for _, line := range lines {
		add(&t.quotes, c.Scope.With("line", line), q)
	}
}

// lines returns the long lines of a text.
func lines(text string) []string {
	const most = 64
	all := telling(strings.SplitN(text, "\n", 16*most), leastLine)
	return all[:min(len(all), most)]
}

// quoted returns the answer of an agent with the same system prompt and tools of which a
// call repeats lines, if there are such answers in one trace only: a summary that
// replaced the history.
func (t *Tree) quoted(c *Call) (best *quote) {
	if len(c.Tools) == 0 {
		return nil
	}
	head := headOf(c.Messages, c.Tools)
	sums := map[*quote]int{}
	for i := range c.Messages {
		if m := &c.Messages[i]; m.Role == rl.RoleSystem || m.Role == rl.RoleDeveloper {
			continue
		}
		for _, line := range lines(c.Messages[i].Content.Text()) {
			there, _ := t.quotes.get(c.Scope.With("line", line))
			for _, q := range there {
				if c.Trace == "" && q.head == head || c.Trace != "" && q.trace == c.Trace && q.agent == c.Agent {
					sums[q] += len(line)
				}
			}
		}
	}
	for q, n := range sums {
		if n < leastSum {
			continue
		}
		if best != nil && best.trace != q.trace {
			return nil
		}
		if best == nil || n > sums[best] || n == sums[best] && q.span > best.span {
			best = q
		}
	}
	return best
}
