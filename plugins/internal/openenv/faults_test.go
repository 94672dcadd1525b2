package openenv

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/sdk/plugin"
)

// scripted is a server that answers every message of a session as answer says;
// number counts the sessions from 1. An empty answer is none, and the end of the
// connection is "END".
func scripted(t *testing.T, schema string, answer func(number int64, message map[string]any) string) (url string, sessions *atomic.Int64) {
	t.Helper()
	sessions = new(atomic.Int64)
	m := http.NewServeMux()
	for path, body := range map[string]string{
		"/health": `{"status":"healthy"}`, "/metadata": `{"name":"x","description":"Say it."}`, "/schema": schema,
	} {
		m.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	}
	m.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		number := sessions.Add(1)
		for {
			_, text, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			var message map[string]any
			_ = json.Unmarshal(text, &message)
			if message["type"] == "close" {
				return
			}
			out := answer(number, message)
			if out == "END" {
				return
			}
			if out != "" {
				_ = conn.Write(r.Context(), websocket.MessageText, []byte(out))
			}
		}
	})
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s.URL, sessions
}

const messageSchema = `{"action":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false},
	"observation":{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false},"state":{}}`

const seen = `{"type":"observation","data":{"observation":{"text":"hello"},"reward":null,"done":false}}`

// do performs one operation in slot 0 and returns the flags and the reason of a
// failure.
func do(t *testing.T, e env.Env, op env.Op, text string) (env.Reply, string) {
	t.Helper()
	b := env.NewBatch(e.Spec())
	b.Want = env.WantText
	b.Ops[0], b.Texts[0] = op, text
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	for _, event := range r.Events {
		if event.Kind == env.EventError {
			return r, event.Message
		}
	}
	return r, ""
}

// Promise: whatever a server does wrong breaks the slot with a reason, never the
// plug-in, and the next reset mends it in a new session where that is needed.
func TestFaults(t *testing.T) {
	observation := func(rest string) string {
		return `{"type":"observation","data":{"observation":{"text":"x"},` + rest + `}}`
	}
	for name, c := range map[string]struct {
		answer, reason string
		more           string
		again          bool // the same session goes on
	}{
		"ends the session":    {answer: "END", reason: "the server closed the session"},
		"never answers":       {answer: "", reason: "no answer within step_timeout 50ms", more: `"step_timeout": "50ms"`},
		"no JSON":             {answer: "{", reason: "cannot read the server's message: Invalid JSON"},
		"another type":        {answer: `{"type":"state","data":{}}`, reason: `a message of type "state"`},
		"two answers":         {answer: strings.Repeat("[", 65), reason: "values are nested more than 64 deep"},
		"too large":           {answer: observation(`"pad":"` + strings.Repeat("x", 5000) + `"`), reason: "longer than max_message, 2048 bytes", more: `"max_message": 2048`},
		"a reward of text":    {answer: observation(`"reward":"x"`), reason: `the reward "x" is not a number`, again: true},
		"a huge reward":       {answer: observation(`"reward":1e999`), reason: "the reward 1e999 is not finite", again: true},
		"done is a number":    {answer: observation(`"done":1`), reason: "done must be true or false, not 1", again: true},
		"no text":             {answer: `{"type":"observation","data":{"observation":{},"done":true}}`, reason: "the answer has no observation.text", again: true},
		"no object":           {answer: `{"type":"observation","data":[1]}`, reason: "the answer is not an object", again: true},
		"a metric of text":    {answer: observation(`"metadata":{"metrics":{"a":"b"}}`), reason: "the metric a is b", again: true},
		"the environment":     {answer: `{"type":"error","data":{"message":"boom\u001b[31m","code":"EXECUTION_ERROR"}}`, reason: `boom\x1b[31m (EXECUTION_ERROR)`, again: true},
		"the session":         {answer: `{"type":"error","data":{"message":"gone","code":"SESSION_ERROR"}}`, reason: "gone (SESSION_ERROR)"},
		"an error of nothing": {answer: `{"type":"error"}`, reason: "no reason given"},
	} {
		t.Run(name, func(t *testing.T) {
			url, sessions := scripted(t, messageSchema, func(number int64, m map[string]any) string {
				if m["type"] == "step" && m["data"].(map[string]any)["message"] == "bad" {
					return c.answer
				}
				return seen
			})
			more := `"observation": {"text": "observation.text"}`
			if c.more != "" {
				more += "," + c.more
			}
			e := play(t, 1, patient(url, more))
			defer e.Close()
			_, why := do(t, e, env.Reset, "")
			require.Empty(t, why)
			r, why := do(t, e, env.Step, "bad")
			require.Contains(t, why, c.reason)
			require.Equal(t, env.Failed, r.Flags[0])
			_, why = do(t, e, env.Step, "good")
			require.Contains(t, why, "only a reset helps")
			r, why = do(t, e, env.Reset, "")
			require.Empty(t, why)
			require.Equal(t, "hello", r.Text[0])
			require.Equal(t, c.again, sessions.Load() == 1)
		})
	}
}

// Promise: an action that the server does not accept is an invalid action: the text is the
// problem and the previous observation, and the episode continues.
func TestInvalidAction(t *testing.T) {
	url, sessions := scripted(t, messageSchema, func(_ int64, m map[string]any) string {
		if m["type"] == "step" && m["data"].(map[string]any)["message"] == "bad" {
			return `{"type":"error","data":{"message":"Invalid message","code":"VALIDATION_ERROR","errors":[{"loc":["message"],"msg":"too short"}]}}`
		}
		return seen
	})
	e := play(t, 1, patient(url, `"observation": {"text": "observation.text"}`))
	defer e.Close()
	do(t, e, env.Reset, "")
	r, _ := do(t, e, env.Step, "bad")
	require.Equal(t, env.InvalidAction, r.Flags[0])
	require.Equal(t, "The server does not take this action: Invalid message; message: too short\n\nhello", r.Text[0])
	require.Equal(t, "hello", r.Anchor[0])
	r, _ = do(t, e, env.Step, "good")
	require.Zero(t, r.Flags[0])
	require.EqualValues(t, 1, sessions.Load())
}

// Promise: JSON of a language model is held to the server's schema before it is
// sent, and what does not fit is an invalid action that nobody is asked about.
func TestStructuredAction(t *testing.T) {
	var got atomic.Value
	url, _ := scripted(t, messageSchema, func(_ int64, m map[string]any) string {
		if m["type"] == "step" {
			got.Store(m["data"])
		}
		return seen
	})
	e := play(t, 1, patient(url, `"action": {"as": "json"}, "observation": {"text": "observation.text"}`))
	defer e.Close()
	do(t, e, env.Reset, "")
	r, _ := do(t, e, env.Step, `I say {"message": 5}.`)
	require.Equal(t, env.InvalidAction, r.Flags[0])
	require.Contains(t, r.Text[0], "at message: got number, want string")
	require.Nil(t, got.Load())
	r, _ = do(t, e, env.Step, `I say {"message": "5"}.`)
	require.Zero(t, r.Flags[0])
	require.Equal(t, map[string]any{"message": "5"}, got.Load())
}

// Promise: a request to a full server is retried until the server has a session.
func TestCapacity(t *testing.T) {
	url, sessions := scripted(t, messageSchema, func(number int64, _ map[string]any) string {
		if number <= 3 {
			return `{"type":"error","data":{"message":"Server at capacity: 1/1","code":"CAPACITY_REACHED"}}`
		}
		return seen
	})
	e := play(t, 1, patient(url, `"observation": {"text": "observation.text"}`))
	defer e.Close()
	_, why := do(t, e, env.Reset, "")
	require.Empty(t, why)
	require.EqualValues(t, 4, sessions.Load())
}

// Promise: a slot for which the server has no session in time fails with the
// server's words, and the others play.
func TestFull(t *testing.T) {
	e := play(t, 2, patient(serve(t, line{}, 1, 1, nil), walking+`, "reset_timeout": "2s"`))
	defer e.Close()
	b := env.NewBatch(e.Spec())
	b.Ops[0], b.Ops[1] = env.Reset, env.Reset
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.ElementsMatch(t, []env.Flag{0, env.Failed}, r.Flags)
	require.Contains(t, r.Events[len(r.Events)-1].Message+r.Events[0].Message, "the server had no session within reset_timeout 2s: Server at capacity: 1/1 sessions active. Cannot accept new connections. (CAPACITY_REACHED)")
}

// Promise: calls of tools become steps one after the other, their results tool
// messages, their rewards one.
func TestTools(t *testing.T) {
	url, _ := scripted(t, `{"action":{"type":"object"},"observation":{},"state":{}}`, func(_ int64, m map[string]any) string {
		data, _ := m["data"].(map[string]any)
		switch data["type"] {
		case "list_tools":
			return `{"type":"observation","data":{"observation":{"tools":[{"name":"add","description":"Adds.","input_schema":{"type":"object"}}]},"done":false}}`
		case "call_tool":
			return `{"type":"observation","data":{"observation":{"tool_name":"add","result":{"data":3},"error":null,"metadata":{}},"reward":0.5,"done":false}}`
		}
		return seen
	})
	e := play(t, 1, patient(url, `"action": {"as": "tools"}`))
	defer e.Close()
	require.JSONEq(t, `[{"type":"function","function":{"name":"add","description":"Adds.","parameters":{"type":"object"}}}]`, string(e.Spec().Tools))
	do(t, e, env.Reset, "")
	r, _ := do(t, e, env.Step, `[{"id":"1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}},{"id":"2","type":"function","function":{"name":"add","arguments":"{}"}}]`)
	require.Equal(t, 1.0, r.Reward[0])
	require.Equal(t, []env.Event{{Kind: env.EventToolResult, Name: "add", Message: "3"}, {Kind: env.EventToolResult, Name: "add", Message: "3"}}, r.Events)
	r, _ = do(t, e, env.Step, "no calls")
	require.Equal(t, env.InvalidAction, r.Flags[0])
}

// Promise: what is too much for a reply costs the slot that said it and not all:
// rewards that are finite each and not together, more results than a slot may tell,
// and what is wrong in front of a text of the greatest length.
func TestTooMuch(t *testing.T) {
	url, _ := scripted(t, `{"action":{"type":"object"},"observation":{},"state":{}}`, func(_ int64, m map[string]any) string {
		data, _ := m["data"].(map[string]any)
		switch {
		case data["type"] == "list_tools":
			return `{"type":"observation","data":{"observation":{"tools":[{"name":"add","input_schema":{"type":"object"}}]},"done":false}}`
		case data["type"] == "call_tool" && data["arguments"].(map[string]any)["rich"] == true:
			return `{"type":"observation","data":{"observation":{"result":1},"reward":1e308,"done":false}}`
		}
		return `{"type":"observation","data":{"observation":"` + strings.Repeat("x", wire.MaxText) + `","done":false}}`
	})
	e := play(t, 1, patient(url, `"action": {"as": "tools"}, "observation": {"text": "observation"}`))
	defer e.Close()
	calls := func(n int, arguments string) string {
		call := `{"function":{"name":"add","arguments":"` + arguments + `"}}`
		return "[" + strings.Repeat(call+",", n-1) + call + "]"
	}
	for said, why := range map[string]string{
		calls(2, `{\"rich\":true}`): "more than a number holds", calls(wire.MaxEvents+1, "{}"): "65 metrics, infos and tool results",
	} {
		_, problem := do(t, e, env.Reset, "")
		require.Empty(t, problem)
		_, problem = do(t, e, env.Step, said)
		require.Contains(t, problem, why)
	}
	do(t, e, env.Reset, "")
	r, problem := do(t, e, env.Step, "no calls")
	require.Empty(t, problem)
	require.Equal(t, env.InvalidAction, r.Flags[0])
	require.LessOrEqual(t, len(r.Text[0]), wire.MaxText)
}

// Promise: everything that is wrong with the options is said at once: what only
// the server knows, too.
func TestWrongOptions(t *testing.T) {
	url, _ := scripted(t, messageSchema, nil)
	for options, want := range map[string][]string{
		`{"url": "ftp://x", "headers": {"Authorization": "NO_SUCH_VARIABLE"}, "max_steps": -1, "step_timeout": "0s", "action": {"as": "dance", "choices": []}, "observation": {"features": "x", "mask": "y"}}`: {
			`options.url: "ftp://x" is not an address`, "options.headers.Authorization: the plug-in has no environment variable NO_SUCH_VARIABLE",
			"options.max_steps: must be 0 or more", "options.step_timeout: must be positive", "options.action.as: must be text", "options.observation.shape: is missing", "options.observation.mask: or legal has no effect",
		},
		`{"action": {"as": "choices"}}`: {"options.url: is missing", "options.action.choices: is empty"},
		`{"url": "` + url + `", "action": {"field": "massage", "with": {"volume": 2}}, "observation": {"text": "observation.txt"}}`: {
			`options.action.field: the server's actions have no field "massage"`, `options.action.with.volume: the server's actions have no field "volume"`,
			`options.action.with: omits "message"`, `options.observation.text: the server's observations have no field "txt"`,
		},
		`{"url": "` + url + `", "action": {"as": "choices", "choices": [{"name": "a", "action": {"message": 1}}]}}`: {"options.action.choices.0.action: makes the action {\"message\":1}, which the server does not accept"},
		`{"url": "http://127.0.0.1:1"}`: {"options.url: http://127.0.0.1:1 does not answer as an OpenEnv server: /health: connection refused"},
	} {
		_, err := Definition().Open(plugin.Setup{Slots: 1, Split: plugin.Train}, json.RawMessage(options))
		require.Error(t, err, options)
		for _, w := range want {
			require.ErrorContains(t, err, w)
		}
	}
}
