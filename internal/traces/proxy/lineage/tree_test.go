package lineage

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// session is a small model of an agent's harness: it takes turns, calls tools side by side,
// begins sub-agents, replaces its history by a summary, retries, changes its history and renews its key.
// It knows what is true of each of its calls.
type session struct {
	id    int
	named bool // it sends headers
	rng   *rand.Rand
	open  []*talk
	scope Key // its API key, which sessions that send headers renew
	turns int // that are left
	n     int
	again bool // it sent its very first request again
	alike bool // one of its sub-agents began with the words of another session's
}

// talk is a conversation of a session.
type talk struct {
	messages []rl.Message
	tools    json.RawMessage
	agent    string // of the harness
	kind     Kind   // how the next call begins a branch, if it does
	parent   string // from where
	last     string
	waits    string // for the sub-agent of this call of a tool
	boss     *talk
	compact  bool
}

func (s *session) words(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "w%d", s.rng.IntN(1000))
	}
	return b.String()
}

func newSession(id int, rng *rand.Rand) *session {
	s := &session{id: id, named: rng.IntN(4) == 0, rng: rng, turns: 3 + rng.IntN(8)}
	// Every tenth session begins like many others: parallel attempts at one task.
	task := "task " + s.words(8)
	if rng.IntN(10) == 0 {
		task = "the task that many sessions are given at once"
	}
	s.open = []*talk{{tools: json.RawMessage(`[{"name":"task"},{"name":"read"}]`), messages: []rl.Message{{Role: "system", Content: rl.Text("you are an agent")}, {Role: "user", Content: rl.Text(task)}}}}
	return s
}

// next returns the next call of a conversation that does not wait.
func (s *session) next() (*talk, *Call) {
	ready := slices.DeleteFunc(slices.Clone(s.open), func(k *talk) bool { return k.waits != "" })
	if s.turns <= 0 || len(ready) == 0 {
		return nil, nil
	}
	s.turns--
	s.n++
	k := ready[s.rng.IntN(len(ready))]
	c := &Call{Span: fmt.Sprintf("s%d-%d", s.id, s.n), Messages: slices.Clone(k.messages), Tools: k.tools, Compact: k.compact && s.named}
	if s.named {
		if s.rng.IntN(5) == 0 {
			s.scope[0]++
		}
		c.Trace, c.Agent, c.Scope = fmt.Sprintf("session-%d", s.id), k.agent, s.scope
	}
	return k, c
}

// answer continues a conversation with the answer to its call.
func (s *session) answer(k *talk, c *Call) *rl.Message {
	m := &rl.Message{Role: rl.RoleAssistant, Content: rl.Text(s.words(4))}
	k.kind, k.parent, k.compact = "", "", false
	before := k.messages
	k.last = c.Span
	k.messages = append(slices.Clip(k.messages), *m)
	switch what := s.rng.IntN(20); {
	case what < 6: // tools, side by side
		for i := range 1 + s.rng.IntN(3) {
			m.ToolCalls = append(m.ToolCalls, rl.ToolCall{ID: fmt.Sprint("call", s.n, i), Function: rl.FunctionCall{Name: "read", Arguments: `{"file": "` + s.words(1) + `"}`}})
		}
		k.messages[len(k.messages)-1] = *m
		for _, a := range m.ToolCalls {
			k.messages = append(k.messages, rl.Message{Role: "tool", ToolCallID: a.ID, Content: rl.Text(s.words(2))})
		}
	case what < 9 && k.boss == nil: // a sub-agent
		prompt, id := "look for "+s.words(8), fmt.Sprint("call", s.n)
		if s.rng.IntN(8) == 0 { // parallel attempts at one task may use the same words
			prompt = "look for what every attempt looks for"
			s.alike = true
		}
		arguments, _ := json.Marshal(map[string]string{"description": "look", "prompt": prompt})
		m.ToolCalls = []rl.ToolCall{{ID: id, Function: rl.FunctionCall{Name: "task", Arguments: string(arguments)}}}
		k.messages[len(k.messages)-1] = *m
		k.waits = id
		s.open = append(s.open, &talk{tools: json.RawMessage(`[{"name":"read"}]`), agent: fmt.Sprintf("agent-%d-%d", s.id, s.n), kind: Subagent, parent: c.Span, boss: k,
			messages: []rl.Message{{Role: "system", Content: rl.Text("you look for things")}, {Role: "user", Content: rl.Text(prompt)}}})
	case what < 11 && len(before) > 4: // a compaction: this answer is the summary
		m.Content = rl.Text("<summary>\nit was asked for " + s.words(12) + "\nand found were " + s.words(14) + "\n</summary>")
		k.messages = []rl.Message{before[0], {Role: "user", Content: rl.Text("The conversation so far:\n" + strings.Trim(m.Content.Text(), "<>/amrsuy\n"))}}
		k.kind, k.parent, k.compact = Compaction, c.Span, true
	case what < 12: // the same again
		k.messages, k.kind, k.parent = before, Retry, ""
		s.again = s.again || k.boss == nil && len(before) == 2
	case what < 13 && len(before) > 5: // an early message is changed
		k.messages[3].Content, k.kind, k.parent = rl.Text("changed "+s.words(4)), Edit, c.Span
	case k.boss != nil && what > 16: // the sub-agent has ended
		k.boss.messages = append(k.boss.messages, rl.Message{Role: "tool", ToolCallID: k.boss.waits, Content: m.Content})
		k.boss.waits = ""
		s.open = slices.DeleteFunc(s.open, func(o *talk) bool { return o == k })
	default:
		k.messages = append(k.messages, rl.Message{Role: "user", Content: rl.Text(s.words(3))})
	}
	return m
}

// Promise: whatever sessions of agents run side by side, with and without headers, each
// call is in one place of one trace, no two sessions are in one trace, and sub-agents and
// compactions are branches of their session's trace that leave from the right span.
func TestRandomSessions(t *testing.T) {
	all := 3_000
	if testneeds.All() {
		all = 100_000
	}
	const atOnce = 16
	rng := rand.New(rand.NewPCG(1, 2))
	traces, calls := 0, 0
	tree := New(Most, func() string { traces++; return fmt.Sprint("trace-", traces) })
	spans := map[string][]trace.Span{}
	owner, placed, of := map[string]int{}, map[string]Place{}, map[int]map[string]bool{}
	type count struct{ right, all int }
	counts := map[string]*count{}
	tally := func(what string, right bool) {
		if counts[what] == nil {
			counts[what] = &count{}
		}
		counts[what].all++
		if right {
			counts[what].right++
		}
	}
	var running []*session
	for begun := 0; begun < all || len(running) > 0; {
		for len(running) < atOnce && begun < all {
			running = append(running, newSession(begun, rng))
			begun++
		}
		i := rng.IntN(len(running))
		s := running[i]
		k, c := s.next()
		if c == nil {
			switch whole := len(of[s.id]) == 1; {
			case s.named:
				tally("whole, by headers", whole)
			case s.again:
				tally("whole, though the first request was sent again", whole)
			case s.alike:
				tally("whole, though sub-agents began alike", whole)
			default:
				tally("whole", whole)
			}
			for id := range of[s.id] {
				once(t, id, spans[id])
				delete(spans, id)
			}
			running = slices.Delete(running, i, i+1)
			continue
		}
		kind, parent := k.kind, k.parent
		p := tree.Place(c)
		m := s.answer(k, c)
		tree.Results(&p, c.Messages)
		tree.Answered(c, &p, m, "", time.Time{})
		calls++
		_, twice := placed[c.Span]
		require.False(t, twice, "a call is in one place")
		placed[c.Span] = p
		if before, there := owner[p.Trace]; there {
			require.Equal(t, before, s.id, "two sessions in %s", p.Trace)
		}
		owner[p.Trace] = s.id
		if of[s.id] == nil {
			of[s.id] = map[string]bool{}
		}
		of[s.id][p.Trace] = true
		if kind == Subagent || kind == Compaction {
			what := string(kind)
			if s.named {
				what += ", by headers"
			} else if strings.Contains(c.Messages[1].Content.Text(), "every attempt") {
				what += ", though others began alike"
			}
			tally(what, p.Kind == kind && p.Parent == parent && p.Branch == c.Span)
		}
		spans[p.Trace] = append(spans[p.Trace], span(calls, c, &p, m))
	}
	for what, c := range counts {
		t.Logf("%-50s %6d of %6d (%.2f %%)", what, c.right, c.all, 100*float64(c.right)/float64(c.all))
		if !strings.Contains(what, "though") {
			require.GreaterOrEqual(t, float64(c.right), 0.999*float64(c.all), what)
		}
	}
	t.Logf("%d sessions, %d calls", all, calls)
}

// span returns a call as it is recorded: it sampled one token, whose id is its number.
func span(n int, c *Call, p *Place, answer *rl.Message) trace.Span {
	id := int32(n)
	s := trace.Span{Trace: p.Trace, ID: c.Span, Parent: p.Parent, Kind: trace.KindPrompt, Name: "m", Status: trace.StatusOK, Attributes: map[string]json.RawMessage{}}
	s.Start = time.Unix(int64(n), 0)
	s.End = s.Start
	s.Prompt = &trace.Prompt{Messages: c.Messages, Answer: answer, PromptTokens: []int32{0}, Tokens: []trace.Token{{ID: &id}}}
	if p.Branch != "" {
		s.Attributes[trace.AttributeBranch] = trace.JSON(p.Branch)
	}
	return s
}

// once checks that each sampled token of a trace is in one step of its trajectory, with its
// own message, and that each parent is a span of the trace.
func once(t *testing.T, id string, spans []trace.Span) {
	x := trace.Trace{Head: trace.Head{ID: id}, All: spans}
	told := x.Trajectory()
	require.Len(t, told.Steps, len(spans))
	tokens, ids := map[int32]bool{}, map[string]bool{"": true}
	for i := range spans {
		ids[spans[i].ID] = true
	}
	for i, step := range told.Steps {
		require.Len(t, step.Tokens, 1)
		require.False(t, tokens[step.Tokens[0].ID], "a token is in two places")
		tokens[step.Tokens[0].ID] = true
		require.Equal(t, *spans[i].Prompt.Tokens[0].ID, step.Tokens[0].ID)
		require.True(t, trace.Same(*spans[i].Prompt.Answer, told.Messages[step.MessageCount]))
		require.True(t, ids[spans[i].Parent], "the parent is in another trace")
	}
}
