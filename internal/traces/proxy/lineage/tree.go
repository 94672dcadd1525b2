package lineage

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// Most is the usual maximum number of states that are remembered.
const Most = 1 << 16

// Kind is why a branch begins.
type Kind string

// The kinds of branches.
const (
	Subagent   Kind = "subagent"   // a call of a tool began another conversation
	Compaction Kind = "compaction" // the history was replaced by a summary
	Retry      Kind = "retry"      // the same request was sent again
	Fork       Kind = "fork"       // a state was continued a second time
	Edit       Kind = "edit"       // an earlier message was changed
	Root       Kind = "root"       // another conversation of a trace that the call names
)

// Call is what is known of a call before its place.
type Call struct {
	Span     string // its id
	Trace    string // that it names; otherwise empty
	Agent    string // the harness's id of the agent; empty for the main one
	Boss     string // the harness's id of the agent that began Agent; empty for the main one
	Compact  bool   // the harness says that it replaced the history
	Previous string // the id of the answer that it continues, if it names it
	Name     string // that the agent gives itself; empty if it gives none
	Scope    Key    // calls of another scope are never in the same trace, unless they name it
	Messages []rl.Message
	Tools    json.RawMessage
}

// Place is where a call belongs.
type Place struct {
	Trace  string
	Branch string // id of the first span of the branch; empty for the trunk
	Kind   Kind   // of the branch; empty for the trunk
	Parent string // the span that the branch leaves from
	Within bool   // a sub-agent's: what it says does not end the trace

	branch *branch
	from   *visit // the state that the call continues, if any
	keys   []Key
}

// branch is a conversation.
type branch struct {
	trace, id, parent, agent string
	kind                     Kind
	last                     string  // its last span
	messages                 int     // of its last call
	left                     *branch // the branch that it leaves from
}

// visit is a conversation in some state: after the answer of a span, or before it.
type visit struct {
	*branch
	span      string
	continued bool // a call has continued it from here
}

// Asked is a call of a tool.
type Asked struct {
	rl.ToolCall
	Span  string // of the call of the model that asked for it
	Since time.Time

	from  *branch
	open  bool // the result has not come yet
	taken bool // a sub-agent has begun from it
}

// Tree remembers conversations, to find the place of a call among those before. It is not
// safe for concurrent use.
type Tree struct {
	name     func() string // of a new trace
	answered memory[Key, []*visit]
	asked    memory[Key, []*visit] // before the answer: for agents that edit answers
	replies  memory[string, *visit]
	tools    memory[string, *Asked]
	spawns   memory[Key, []*Asked] // by the texts among their arguments
	quotes   memory[Key, []*quote] // by the lines of answers
	trunks   memory[string, *branch]
	agents   memory[string, *branch] // by trace and the harness's id
	scopes   memory[string, Key]     // by a trace that calls name, and the agent's name
}

// New returns a tree that remembers about so many states. name returns the id of a new
// trace.
func New(most int, name func() string) *Tree {
	return &Tree{
		name: name, answered: remember[Key, []*visit](most), asked: remember[Key, []*visit](most), replies: remember[string, *visit](most),
		tools: remember[string, *Asked](most), spawns: remember[Key, []*Asked](most), quotes: remember[Key, []*quote](4 * most),
		trunks: remember[string, *branch](most), agents: remember[string, *branch](most),
		scopes: remember[string, Key](most),
	}
}

// Place returns the place of a call, which becomes part of the tree.
func (t *Tree) Place(c *Call) Place {
	c.Scope = t.scope(c)
	p := t.find(c)
	b := p.branch
	b.last, b.messages = c.Span, len(c.Messages)
	p.Trace, p.Branch, p.Kind, p.Parent = b.trace, b.id, b.kind, b.parent
	for ; b != nil; b = b.left {
		p.Within = p.Within || b.kind == Subagent
	}
	return p
}

// scope returns the scope of a call. That of the first call of a trace holds for all that name the
// trace: a long session renews its key.
func (t *Tree) scope(c *Call) Key {
	if c.Trace == "" {
		return c.Scope
	}
	name := c.Trace + "\x00" + c.Name
	first, known := t.scopes.get(name)
	if !known {
		t.scopes.set(name, c.Scope)
		return c.Scope
	}
	return first
}

func (t *Tree) find(c *Call) Place {
	keys := chain(c.Scope, c.Messages)
	p := Place{keys: keys}
	if v, ok := t.replies.get(c.Previous); ok && c.Previous != "" && (c.Trace == "" || v.trace == c.Trace) {
		return t.after(c, p, v)
	}
	if v, exact := t.continued(c, keys); v != nil && exact {
		return t.after(c, p, v)
	} else if v != nil {
		return t.edited(c, p, v)
	}
	if p.branch = t.begins(c, keys); p.branch == nil {
		p.branch = t.trunk(c)
	}
	return p
}

// after places a call that continues a state.
func (t *Tree) after(c *Call, p Place, v *visit) Place {
	p.from = v
	if !v.continued {
		v.continued, p.branch = true, v.branch
		return p
	}
	kind := Fork
	if n := len(p.keys); n > 0 {
		if there, _ := t.asked.get(p.keys[n-1]); len(t.fitting(c, there)) > 0 {
			kind = Retry
		}
	}
	p.branch = t.leave(c, v.branch, kind, v.span)
	return p
}

// edited places a call whose agent changed what it had said before. A changed last answer
// begins no branch: some agents shorten every answer.
func (t *Tree) edited(c *Call, p Place, v *visit) Place {
	p.from = v
	switch {
	case v.branch.last == v.span:
		p.branch = v.branch
	case len(c.Messages) < v.branch.messages || c.Compact:
		p.branch = t.leave(c, v.branch, Compaction, v.branch.last)
	default:
		p.branch = t.leave(c, v.branch, Edit, v.branch.last)
	}
	return p
}

// leave begins a branch.
func (t *Tree) leave(c *Call, from *branch, kind Kind, parent string) *branch {
	b := &branch{trace: from.trace, id: c.Span, parent: parent, agent: c.Agent, kind: kind, left: from}
	if c.Agent != "" {
		t.agents.set(b.trace+"\x00"+c.Agent, b)
	}
	return b
}

// trunk returns the trunk of a new trace, or another root of the trace that the call
// names.
func (t *Tree) trunk(c *Call) *branch {
	b := &branch{trace: c.Trace, agent: c.Agent}
	if c.Trace == "" {
		b.trace = t.name()
	}
	if _, there := t.trunks.get(b.trace); there {
		b.id, b.kind = c.Span, Root
	} else {
		t.trunks.set(b.trace, b)
	}
	return b
}

// Answered remembers what a call was answered; a nil answer leaves its state to be
// continued by another call. id is that of the answer, if the server gave one.
func (t *Tree) Answered(c *Call, p *Place, answer *rl.Message, id string, end time.Time) {
	v := &visit{branch: p.branch, span: c.Span}
	if id != "" {
		t.replies.set(id, v)
	}
	if answer == nil && p.from != nil {
		p.from.continued = false
	}
	if n := len(p.keys); n > 0 {
		add(&t.asked, p.keys[n-1], &visit{branch: p.branch, span: c.Span})
		if answer != nil {
			add(&t.answered, p.keys[n-1].then(answer), v)
		}
	}
	if answer == nil {
		return
	}
	t.quote(c, p, answer)
	for _, call := range answer.ToolCalls {
		a := &Asked{ToolCall: call, Span: c.Span, Since: end, from: p.branch, open: true}
		t.tools.set(p.branch.at(call.ID), a)
		for _, text := range texts(call.Function.Arguments) {
			key := c.Scope.With("spawn", text)
			there, _ := t.spawns.get(key)
			there = slices.DeleteFunc(there, func(a *Asked) bool { return !a.open })
			t.spawns.set(key, there)
			add(&t.spawns, key, a)
		}
	}
}

// at is the name of a call of a tool in a branch: some servers give every call the same
// id.
func (b *branch) at(call string) string { return b.trace + "\x00" + b.id + "\x00" + call }

// add remembers one more value of a key, and forgets the oldest beyond the number of
// identical conversations that is likely.
func add[V any](m *memory[Key, []V], k Key, v V) {
	const most = 64
	there, _ := m.get(k)
	m.set(k, append(there[max(0, len(there)+1-most):], v))
}

// Result is the result of a call of a tool.
type Result struct {
	Asked *Asked
	ID    string
	Text  string
}

// Results returns the results of tools that a call returns for the first time in its
// trace.
func (t *Tree) Results(p *Place, messages []rl.Message) (results []Result) {
	// After the last answer only: some servers give every tool call the same id.
	from := len(messages)
	for from > 0 && messages[from-1].Role != rl.RoleAssistant {
		from--
	}
	for _, m := range messages[from:] {
		if m.ToolCallID == "" {
			continue
		}
		for b := p.branch; b != nil; b = b.left {
			if asked, ok := t.tools.get(b.at(m.ToolCallID)); ok {
				t.tools.forget(b.at(m.ToolCallID))
				asked.open = false
				results = append(results, Result{asked, m.ToolCallID, m.Content.Text()})
				break
			}
		}
	}
	return results
}
