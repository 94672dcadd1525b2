package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// everything is a trace with a span of each kind.
func everything() Trace {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	span := func(id string, kind Kind, agent string) Span {
		at = at.Add(time.Second)
		return Span{Trace: "t", ID: id, Agent: agent, Kind: kind, Name: "n", Start: at, End: at.Add(time.Millisecond), Status: StatusOK}
	}
	x, id := 0.5, int32(3)
	call := span("1", KindPrompt, "a")
	call.Prompt = &Prompt{
		Model: "m", Messages: []rl.Message{{Role: "user", Content: rl.Text("hi")}}, Tools: json.RawMessage(`[]`), Settings: json.RawMessage(`{}`), Usage: &Usage{3, 4},
		Answer:       &rl.Message{Role: "assistant", ToolCalls: []rl.ToolCall{{ID: "c", Type: "function", Function: rl.FunctionCall{Name: "n", Arguments: "{}"}}}},
		PromptTokens: []int32{1, 2}, Tokens: []Token{{ID: &id, LogProb: -0.25}},
	}
	tool := span("2", KindTool, "a")
	tool.Tool = &Tool{CallID: "c", Arguments: "{}", Result: "42"}
	vote := span("3", KindCoordination, "b")
	vote.Coordination = &Coordination{Event: EventVote, Round: 1, For: "a"}
	reward := span("4", KindReward, "")
	reward.Reward = &Reward{Digest: "d", Outcome: "scored", Score: &x}
	content, thought := span("5", KindContent, "b"), span("6", KindReasoning, "b")
	content.Text, thought.Text = "done", "hm"
	t := Trace{Head: Head{ID: "t", Task: "sum", Status: StatusOK, Metadata: map[string]json.RawMessage{"ground_truth": json.RawMessage(`"42"`)}},
		All: []Span{call, tool, vote, reward, content, thought}}
	t.count()
	return t
}

// Promise: a trace is the same after it was written and read.
func TestDecodeReadsWhatIsWritten(t *testing.T) {
	want := everything()
	text, err := json.Marshal(want)
	require.NoError(t, err)
	got, err := Decode(text)
	require.NoError(t, err)
	require.Equal(t, want.Head, got.Head)
	require.Equal(t, 0.5, *got.Reward)
	again, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again))
	for i := range want.All {
		line, err := json.Marshal(want.All[i])
		require.NoError(t, err)
		s, err := DecodeSpan(line)
		require.NoError(t, err)
		require.Equal(t, want.All[i].ID, s.ID)
	}
}

// Promise: all that is wrong with a trace is said at once, with the span.
func TestDecodeSaysAllProblems(t *testing.T) {
	text := `{"id": "a b", "spans": [{"id": "1", "kind": "tool", "start": "2026-01-01T00:00:00Z", "end": "2025-01-01T00:00:00Z", "status": "done"},
		{"id": "1", "trace": "x", "kind": "content", "start": "0900-01-01T00:00:00Z", "end": "0900-01-01T00:00:00Z", "status": "ok"}]}`
	_, err := Decode([]byte(text))
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
	for _, part := range []string{`trace is "a b"`, "end is before start", `status is "done"`, "tool (present: false)", "is not in the years 1900 to 2200"} {
		require.ErrorContains(t, err, part)
	}
	for text, part := range map[string]string{
		`{"id": "t"}`: "has no spans", `[]`: "not a trace", "\xff": "not UTF-8", `{"id": "t", "spans": 1}`: "spans must not be",
		`{"id": "t", "status": "ok", "spans": [` + strings.Repeat(`{"id":"1","kind":"content","start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:00Z","status":"ok"},`, 2) + `{}]}`: "occurs twice",
	} {
		_, err := Decode([]byte(text))
		require.ErrorContains(t, err, part, text)
	}
	_, err = DecodeSpan([]byte(`{"kind": 1}`))
	require.ErrorContains(t, err, "kind must not be")
}

// Promise: where no call was recorded, what tools and agents did is the
// conversation, and rewards see the other spans and what it all cost.
func TestTrajectoryWithoutCalls(t *testing.T) {
	x := everything()
	x.All = x.All[1:]
	failed := x.All[0]
	failed.ID, failed.Status, failed.Error, failed.Tool = "7", StatusError, "no such file", &Tool{Arguments: "{}"}
	x.All = append(x.All, failed)
	got := x.Trajectory()
	require.NoError(t, got.Check())
	var said []string
	for _, m := range got.Messages {
		said = append(said, fmt.Sprintf("%s %s %s %d %s", m.Role, m.Name, m.ToolCallID, len(m.ToolCalls), m.Content.Text()))
	}
	require.Equal(t, []string{"assistant a  1 ", "tool  c 0 42", "assistant b  0 done", "assistant a  1 ", "tool  7 0 error: no such file"}, said)
	require.Len(t, got.Steps, 3)
	require.False(t, got.Steps[2].ActionValid)
	require.JSONEq(t, `"2"`, string(got.Steps[0].Info["span"]))
	require.JSONEq(t, `["a","b"]`, string(got.Metadata[MetaAgents]))
	require.NotContains(t, got.Metadata, MetaUsage)
}

// Promise: what the last call's tools said is part of the conversation, though
// no later call was given it.
func TestTrajectoryEndsWithResults(t *testing.T) {
	x := everything()
	got := x.Trajectory()
	require.NoError(t, got.Check())
	require.Len(t, got.Messages, 3)
	require.Equal(t, "42", got.Messages[2].Content.Text())
	require.JSONEq(t, `{"calls":1,"prompt_tokens":3,"completion_tokens":4}`, string(got.Metadata[MetaUsage]))
	require.JSONEq(t, `"42"`, string(got.GroundTruth))
	var spans []Span
	require.NoError(t, json.Unmarshal(got.Metadata[MetaSpans], &spans))
	require.Len(t, spans, 4)
}

// Promise: whatever bytes come, they are refused or are a trace that can be
// written, read again, and told as a trajectory.
func FuzzDecode(f *testing.F) {
	whole := everything()
	seed, err := json.Marshal(whole)
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"id":"t","status":"ok","spans":[{"id":"1","kind":"content","text":"x","start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:00+02:00","status":"ok"}]}`))
	for i := range whole.All {
		line, err := json.Marshal(whole.All[i])
		require.NoError(f, err)
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := DecodeSpan(text); err == nil {
			require.NoError(t, s.Check())
		}
		x, err := Decode(text)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		told := x.Trajectory()
		if len(told.Messages) > 0 {
			require.NoError(t, told.Check())
		}
		first, err := json.Marshal(x)
		require.NoError(t, err)
		again, err := Decode(first)
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

// Promise: what has blanks, commas or quotes in it can be asked for, in quotes.
func TestParseQueryQuotes(t *testing.T) {
	q, err := ParseQuery(`task="1, 2 and 3","say ""hi""",x agent="a b"  meta.k="c d" meta.j={"n":1}`, time.Unix(0, 0))
	require.NoError(t, err)
	require.Equal(t, Query{Tasks: []string{"1, 2 and 3", `say "hi"`, "x"}, Agents: []string{"a b"}, Metadata: map[string]string{"k": "c d", "j": `{"n":1}`}}, q)
	_, err = ParseQuery(`agent=a task="b c`, time.Unix(0, 0))
	require.ErrorContains(t, err, "an unclosed quote")
}

// Promise: a query is read whole or every wrong word of it is named.
func TestParseQuery(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	q, err := ParseQuery("agent=a,b task=x status=ok reward>=0.5 scored=true since=2d before=2026-11-21 meta.k=v limit=3 order=newest", now)
	require.NoError(t, err)
	require.Equal(t, now.AddDate(0, 0, -2), q.Since)
	require.Equal(t, []string{"a", "b"}, q.Agents)
	require.True(t, q.Newest)
	head := Head{ID: "1", Agent: "b", Task: "x", Status: StatusOK, Start: now.AddDate(0, 0, -2), Reward: new(0.5), Metadata: map[string]json.RawMessage{"k": json.RawMessage(`"v"`)}}
	require.True(t, q.Matches(&head, nil))
	head.Reward = nil
	require.False(t, q.Matches(&head, nil))
	_, err = ParseQuery("agent reward>1 limit=0 order=up status=bad since=x scored=maybe colour=red meta.=1 =x task>=1", now)
	for _, part := range []string{`"agent" is not of the form`, "not >", "limit must", "order must", `"bad" is not a status`, `"x" is not a time`, "scored must", `"colour" is not a query key`, `"meta." is not a query key`, `"=x" is`, "only reward"} {
		require.ErrorContains(t, err, part)
	}
}
