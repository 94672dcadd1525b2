package proxy

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// maxThreads is the maximum number of remembered conversation states.
const maxThreads = 1 << 16

// key is a digest of the first messages of a conversation.
type key [16]byte

// threads remembers conversations, to assign a call without a trace name to the trace
// of the earlier call, by the same agent, whose conversation it continues. It is not
// safe for concurrent use.
type threads struct {
	answered memory[key, []visit] // after an answer
	asked    memory[key, []visit] // before the answer: for agents that edit answers
	replies  memory[string, string]
	tools    memory[string, pending]
}

// visit is a conversation in some state.
type visit struct {
	trace     string
	continued bool // a call has continued it from here
}

// pending is a tool call whose result has not been returned yet.
type pending struct {
	call  rl.ToolCall
	span  string
	since time.Time
}

func newThreads(most int) *threads {
	return &threads{answered: remember[key, []visit](most), asked: remember[key, []visit](most), replies: remember[string, string](most), tools: remember[string, pending](most)}
}

// join returns the trace that a call with these messages continues, or "". If several
// conversations reached the same state through the same answers, each is continued
// once before any is continued twice. If their answers differ, join returns "".
func (t *threads) join(chain []key) string {
	for i := len(chain) - 2; i >= 0; i-- {
		if there, ok := t.answered.get(chain[i]); ok {
			return next(there)
		}
		there, ok := t.asked.get(chain[i])
		if ok && !slices.ContainsFunc(there, func(v visit) bool { return v.trace != there[0].trace }) {
			return next(there)
		}
	}
	return ""
}

func next(there []visit) string {
	i := slices.IndexFunc(there, func(v visit) bool { return !v.continued })
	if i < 0 {
		i = len(there) - 1
	}
	there[i].continued = true
	return there[i].trace
}

// visited remembers the state that a call has brought its conversation to.
func (t *threads) visited(id string, chain []key, answer *rl.Message) {
	if len(chain) == 0 {
		return
	}
	const most = 64 // identical conversations
	add := func(m *memory[key, []visit], k key) {
		if there, _ := m.get(k); len(there) < most {
			m.set(k, append(there, visit{trace: id}))
		}
	}
	last := chain[len(chain)-1]
	add(&t.asked, last)
	if answer != nil {
		add(&t.answered, last.then(answer))
	}
}

// chain returns the key of every prefix of a conversation.
func chain(scope key, messages []rl.Message) []key {
	keys := make([]key, len(messages))
	for i := range messages {
		scope = scope.then(&messages[i])
		keys[i] = scope
	}
	return keys
}

// then returns the key of a conversation with one more message. It uses only the
// input of a model, because agents add names, nulls and lists of parts.
func (k key) then(m *rl.Message) key {
	h := sha256.New()
	h.Write(k[:])
	part := func(text string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	part(m.Role)
	part(strings.TrimSpace(m.Content.Text()))
	part(m.ToolCallID)
	for _, c := range m.ToolCalls {
		part(c.Function.Name)
		part(c.Function.Arguments)
	}
	return key(h.Sum(nil)[:16])
}

// results returns the tool results that a call returns for the first time in its
// trace.
func (t *threads) results(c *call, id string, messages []rl.Message) []trace.Span {
	var spans []trace.Span
	// After the last answer only: some servers give every tool call the same id.
	from := len(messages)
	for from > 0 && messages[from-1].Role != rl.RoleAssistant {
		from--
	}
	for i := from; i < len(messages); i++ {
		m := &messages[i]
		if m.ToolCallID == "" {
			continue
		}
		at := id + "\x00" + m.ToolCallID
		asked, ok := t.tools.get(at)
		if !ok {
			continue
		}
		t.tools.forget(at)
		s := c.spanOf(id, asked.span+"-"+short(m.ToolCallID), trace.KindTool, asked.call.Function.Name)
		s.Parent, s.Start, s.End = asked.span, asked.since, c.start
		s.End = later(s.Start, s.End)
		s.Tool = &trace.Tool{CallID: m.ToolCallID, Arguments: asked.call.Function.Arguments, Result: m.Content.Text()}
		spans = append(spans, s)
	}
	return spans
}

// memory is a map with a maximum size that forgets the oldest entries.
type memory[K comparable, V any] struct {
	of   map[K]V
	ring []K
	next int
}

func remember[K comparable, V any](most int) memory[K, V] {
	return memory[K, V]{of: map[K]V{}, ring: make([]K, 0, most)}
}

func (m *memory[K, V]) get(k K) (V, bool) { v, ok := m.of[k]; return v, ok }

func (m *memory[K, V]) forget(k K) { delete(m.of, k) }

func (m *memory[K, V]) set(k K, v V) {
	if _, there := m.of[k]; !there {
		if len(m.ring) < cap(m.ring) {
			m.ring = append(m.ring, k)
		} else {
			delete(m.of, m.ring[m.next])
			m.ring[m.next], m.next = k, (m.next+1)%len(m.ring)
		}
	}
	m.of[k] = v
}
