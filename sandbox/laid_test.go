package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

// handles does with its arguments what authors do, by the interpreter's own C
// as well: whatever is not the same in both ways shows in the reason.
const handles = `import copy, gc, heapq, itertools, json, pickle, sys
from merit_reward import EvaluateResult, Message, ToolCall, FunctionCall

def reward(messages, ground_truth, metadata, **more):
  said = [type(messages) is list, json.dumps(messages), json.dumps([messages, ground_truth, metadata, more], indent=1), repr(messages), str(len(messages))]
  said += [messages == json.loads(json.dumps(messages)), copy.deepcopy(messages) == messages, copy.copy(messages) == messages]
  said += [list(messages) == messages, [*messages] == messages[:], messages[::-1][::-1] == messages, tuple(messages) == (*messages,)]
  for m in messages:
    said += [type(m).__name__, isinstance(m, dict), dict(m) == m, {**m} == m, m.get("content"), m.get("no"), "name" in m, sorted(m), len(m)]
    said += [m.role, m.content, m.text, m.name, m.tool_calls, m.tool_call_id, m.model_dump() == m, list(m.items()), m | {"x": 1}]
    said += [hash(m.role), hash(m.text), m.text.upper(), m.text.encode(), m.text[::-1], sys.intern(m.text + ""), {m.text: 1}[m.text], f"{m.text!r:>20}"]
    said += [m.text.find("e"), m.text.split(), m.text + "!", m.text * 2, m.text.isascii(), m.text == m.text[:-1] + m.text[-1:], sys.getsizeof(m.text + "x")]
    for c in m.tool_calls or ():
      said += [type(c) is ToolCall, type(c.function) is FunctionCall, c.id, c.type, c.function.name, c.function.arguments, dict(c.function)]
    match m:
      case {"role": "assistant", "content": str(text), **rest}:
        said += ["assistant", text, rest]
      case {"role": role}:
        said += [role]
  said += [pickle.loads(pickle.dumps([dict(m) for m in messages])) == messages]
  if messages:
    last, first = messages[-1], messages[0]
    last["content"] = "changed"; last["new"] = [1]; last.role = "me"; last.extra = {}; del last["extra"]
    said += [dict(last), last.pop("content"), last.setdefault("content", "again"), list(last)]
    first.clear(); first.update(a=1)
    messages.append(Message(role="user", content="more")); messages[0] = None; messages.insert(1, 7); messages += [3]
    said += [repr(messages), messages.index(7), messages.pop(), messages.count(None)]
    messages.extend(range(400)); del messages[1:-1]; messages.reverse()
    said += [repr(messages)]
    messages.clear()
  metadata["k"] = 1; more["k"] = 2
  gc.collect()
  said += [repr(metadata), repr(more), repr(ground_truth), repr(messages)]
  return EvaluateResult(score=float(len(said)), reason="\n".join(map(str, said))[:60000])
`

// Promise: what the host lays down in the interpreter's memory is to a reward
// what it would have read from a request.
func TestLaidRequests(t *testing.T) {
	read := newRuntime(t, func(c *sandbox.Config) {
		c.Isolation, c.Workers, c.CacheDir, c.OutputKiB, c.Fuel = sandbox.Shared, 1, cacheDir(t), 1024, 10e9
	})
	laid := newRuntime(t, func(c *sandbox.Config) { c.Workers, c.CacheDir, c.OutputKiB, c.Fuel = 1, cacheDir(t), 1024, 10e9 })
	r, err := loadScript(t, read, "reward.py", handles)
	require.NoError(t, err)
	l, err := loadScript(t, laid, "reward.py", handles)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		x := anyConversation(random)
		want, got := r.Evaluate(context.Background(), x), l.Evaluate(context.Background(), x)
		require.Equal(t, want.Outcome, got.Outcome, "%d: %.2000s", n, got.Reason)
		require.Equal(t, want.Result, got.Result, "%d", n)
		require.Equal(t, reward.Scored, got.Outcome, "%.2000s", got.Reason)
	}
}

// Promise: so it is with one that is as large as there is room for, or larger,
// or holds what is not UTF-8.
func TestLargeLaidRequests(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	const text = "def reward(messages): return {'score': len(messages), 'reason': str([(m.role, len(m.text), hash(m.text)) for m in messages])}\n"
	var loaded []*sandbox.Module
	for _, isolation := range []sandbox.Isolation{sandbox.Shared, sandbox.Snapshot} {
		r := newRuntime(t, func(c *sandbox.Config) { c.Isolation, c.Workers, c.CacheDir = isolation, 1, cacheDir(t) })
		m, err := loadScript(t, r, "reward.py", text)
		require.NoError(t, err)
		loaded = append(loaded, m)
	}
	for _, content := range []string{
		strings.Repeat("a", 1<<18-1000), strings.Repeat("a", 1<<18-100), strings.Repeat("a", 1<<18), strings.Repeat("a", 1<<20),
		strings.Repeat("é", 1<<17), strings.Repeat("€", 1<<16), strings.Repeat("😀", 1<<16), strings.Repeat("😀", 1<<15), "a\xff", "\xed\xa0\x80",
	} {
		x := &rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text(content)}, {Role: "\xff"[:len(content)%2], Content: rl.Text("b")}}}
		want, got := loaded[0].Evaluate(context.Background(), x), loaded[1].Evaluate(context.Background(), x)
		require.Equal(t, want.Outcome, got.Outcome)
		require.Equal(t, want.Result, got.Result)
		require.Equal(t, want.Reason, got.Reason)
	}
}

// anyConversation has texts of every width of characters, shapes of messages
// that the shelf has and others, and at times more than it holds.
func anyConversation(r *rand.Rand) *rl.Trajectory {
	length := r.IntN(6)
	if r.IntN(20) == 0 {
		length = 100 + r.IntN(200)
	}
	letters := []string{"a", "e", " ", "\n", "\x00", "é", "ÿ", "Ā", "€", "\uffff", "😀", "\U0010ffff", "\\", "\""}
	text := func() string {
		from, n := letters[:1+r.IntN(len(letters))], r.IntN(40)
		if length < 10 && r.IntN(30) == 0 {
			n = r.IntN(4000)
		}
		var b strings.Builder
		for range n {
			b.WriteString(from[r.IntN(len(from))])
		}
		return b.String()
	}
	some := func() string { return []string{"", text()}[r.IntN(2)] }
	x := &rl.Trajectory{ID: "any", Metadata: map[string]json.RawMessage{}}
	for range length {
		m := rl.Message{Role: []string{rl.RoleSystem, rl.RoleUser, rl.RoleAssistant, rl.RoleTool, text()}[r.IntN(5)], Content: rl.Text(text()), Name: some(), ToolCallID: some()}
		switch r.IntN(20) {
		case 0:
			m.Content = rl.Content{}
			_ = json.Unmarshal([]byte("null"), &m.Content)
		case 1:
			_ = json.Unmarshal([]byte(`[{"type": "text", "text": "part"}]`), &m.Content)
		case 2, 3, 4, 5:
			m.Name = ""
			for range r.IntN(10) {
				m.ToolCalls = append(m.ToolCalls, rl.ToolCall{ID: text(), Type: "function", Function: rl.FunctionCall{Name: text(), Arguments: text()}})
			}
		}
		x.Messages = append(x.Messages, m)
	}
	value := func() json.RawMessage {
		quoted, _ := json.Marshal(text())
		return json.RawMessage([]string{`"plain"`, `"é€"`, string(quoted), `""`, "3", "null", `{"a": [1, 2.5]}`, "-0"}[r.IntN(8)])
	}
	if r.IntN(4) > 0 {
		x.GroundTruth = value()
	}
	for i := range r.IntN(3) {
		x.Metadata[fmt.Sprintf("key%d", i)] = value()
	}
	return x
}

// Promise: a reward pays for what it reads, not for what it is handed: a
// conversation costs it a little more than its bytes.
func TestMessagesCostLittle(t *testing.T) {
	fuel := func(text string) uint64 {
		m, err := loadScript(t, oneWorker(t), "reward.py", text)
		require.NoError(t, err)
		e := m.Evaluate(context.Background(), conversation())
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		return e.Fuel
	}
	blind, handed := fuel("def reward(): return 1.0\n"), fuel("def reward(messages): return 1.0\n")
	require.Less(t, handed-blind, uint64(2*5100))
}
