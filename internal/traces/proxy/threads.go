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

// maxThreads is how many points of conversations are remembered.
const maxThreads = 1 << 16

// key names the beginning of a conversation: a digest of its messages.
type key [16]byte

// threads knows how far conversations have come, to tell to which trace a call
// belongs that nobody named: that of the earlier call of the same agent whose
// conversation it goes on from. It is used by one goroutine.
type threads struct {
	answered memory[key, []visit] // after an answer
	asked    memory[key, []visit] // before it: for agents that change what was answered
	replies  memory[string, string]
	tools    memory[string, pending]
}

// visit is a conversation at some point.
type visit struct {
	trace     string
	continued bool // a call has gone on from here
}

// pending is a call of a tool whose result no agent has given back yet.
type pending struct {
	call  rl.ToolCall
	span  string
	since time.Time
}

func newThreads(most int) *threads {
	return &threads{answered: remember[key, []visit](most), asked: remember[key, []visit](most), replies: remember[string, string](most), tools: remember[string, pending](most)}
}

// join finds the trace that a call with these messages goes on, or returns "".
// Several conversations that came to the same point by the same answers are
// alike, so each is continued once before any is continued twice; those that
// differ in what was answered are not guessed among.
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

// visited remembers where a call has brought its conversation.
func (t *threads) visited(id string, chain []key, answer *rl.Message) {
	if len(chain) == 0 {
		return
	}
	const most = 64 // alike conversations
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

// chain gives the key of every beginning of a conversation.
func chain(scope key, messages []rl.Message) []key {
	keys := make([]key, len(messages))
	for i := range messages {
		scope = scope.then(&messages[i])
		keys[i] = scope
	}
	return keys
}

// then is the key of a conversation with one more message: of what a model is
// given, since agents put names, nulls and lists of parts where there were none.
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

// results are the tools' results that a call gives back for the first time in
// its trace: what the agent did between two calls.
func (t *threads) results(c *call, id string, messages []rl.Message) []trace.Span {
	var spans []trace.Span
	// Behind the last answer: some servers give every call of a tool the same id.
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

// memory is a map that forgets what came first.
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
