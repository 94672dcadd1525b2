package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/mcp"
	serving "github.com/merit-rl/merit/internal/mcp/answer"
	"github.com/merit-rl/merit/internal/mcp/cassette"
	"github.com/merit-rl/merit/sdk/plugin"
)

// server is a notebook: it keeps notes, so that answers depend on the calls before.
func server() *serving.Server {
	var mu sync.Mutex
	var notes []string
	schema := func(field string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"` + field + `":{"type":"string"}},"required":["` + field + `"],"additionalProperties":false}`)
	}
	return &serving.Server{
		Peer: mcp.Peer{Name: "notebook", Version: "1"}, Instructions: "Keep notes.",
		Tools: []mcp.Tool{{Name: "add", InputSchema: schema("note")}, {Name: "do", InputSchema: schema("what")}},
		Call: func(_ context.Context, tool string, raw json.RawMessage) (*mcp.Result, error) {
			var a struct{ Note, What string }
			if err := json.Unmarshal(raw, &a); err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			switch a.What {
			case "fail":
				return nil, errors.New("it failed")
			case "crash":
				fmt.Fprintln(os.Stderr, "out of paper")
				os.Exit(3)
			case "sleep":
				time.Sleep(time.Minute)
			case "time":
				return &mcp.Result{Text: time.Now().String()}, nil
			case "secret":
				return &mcp.Result{Text: "the key is " + os.Getenv("NOTEBOOK_KEY"), Value: mcp.Marshal(os.Getenv("NOTEBOOK_KEY"))}, nil
			}
			if a.Note != "" {
				notes = append(notes, a.Note)
			}
			return &mcp.Result{Text: strings.Join(notes, " ")}, nil
		},
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "notebook" {
		if err := server().Serve(context.Background(), os.Stdin, os.Stdout, 1<<20); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// settings are options for the notebook.
func settings(t *testing.T, change func(*Options)) Options {
	file := filepath.Join(t.TempDir(), "tasks.jsonl")
	var rows strings.Builder
	for i := range 20 {
		fmt.Fprintf(&rows, "{\"prompt\":\"Write note %d.\",\"ground_truth\":%d}\n", i, i)
	}
	require.NoError(t, os.WriteFile(file, []byte(rows.String()), 0o600))
	o := defaults()
	o.File, o.Command, o.Args = file, os.Args[0], []string{"notebook"}
	if change != nil {
		change(&o)
	}
	return o
}

func start(t *testing.T, slots int, change func(*Options)) env.Env {
	e, err := try(settings(t, change), slots)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func try(o Options, slots int) (env.Env, error) {
	setup := plugin.Setup{Slots: slots, Split: plugin.Train}
	if err := o.check(setup.Split); err != nil {
		return nil, err
	}
	return open(setup, o)
}

// exchange applies an operation to each slot: reset for "", skip for "-", else a step.
func exchange(t *testing.T, e env.Env, texts ...string) *env.Reply {
	b, r := env.NewBatch(e.Spec()), new(env.Reply)
	b.Want = env.WantText
	for i, text := range texts {
		switch b.Texts[i] = text; text {
		case "":
			b.Ops[i], b.Seeds[i] = env.Reset, 7
		case "-":
			b.Ops[i] = env.Skip
		default:
			b.Ops[i] = env.Step
		}
	}
	require.NoError(t, e.Exchange(t.Context(), b, r))
	return r
}

func call(tool, key, value string) string {
	return fmt.Sprintf(`[{"id":"1","type":"function","function":{"name":%q,"arguments":"{\"%s\":\"%s\"}"}}]`, tool, key, value)
}

// said returns the messages of one kind of event of a slot.
func said(r *env.Reply, slot int, kind env.EventKind) (all []string) {
	for _, e := range r.Events {
		if e.Slot == slot && e.Kind == kind {
			all = append(all, e.Message)
		}
	}
	return all
}

// Promise: slots do not see each other's changes, an episode not those of the one before, and
// calls that do not fit the schema are answered and never sent.
func TestLive(t *testing.T) {
	e := start(t, 2, nil)
	require.Equal(t, "Keep notes.", e.Spec().System)
	require.Contains(t, string(e.Spec().Tools), `"name":"add"`)
	r := exchange(t, e, "", "")
	require.Contains(t, said(r, 0, env.EventTask)[0], `"ground_truth":`)
	require.Equal(t, r.Anchor[0], r.Anchor[1])
	r = exchange(t, e, call("add", "note", "a"), call("add", "note", "b"))
	require.Equal(t, []string{"a"}, said(r, 0, env.EventToolResult))
	require.Equal(t, []string{"b"}, said(r, 1, env.EventToolResult))
	require.NotEqual(t, r.Anchor[0], r.Anchor[1])
	r = exchange(t, e, call("add", "note", "c"), call("add", "page", "d"))
	require.Equal(t, []string{"a c"}, said(r, 0, env.EventToolResult))
	require.Contains(t, said(r, 1, env.EventToolResult)[0], "invalid_arguments: The arguments of \"add\" are invalid")
	require.Equal(t, env.InvalidAction, r.Flags[1])
	r = exchange(t, e, "", call("do", "what", "fail"))
	require.Equal(t, []string{"it failed"}, said(r, 1, env.EventToolResult))
	require.JSONEq(t, `[{"tool":"do","arguments":{"what":"fail"},"text":"it failed","is_error":true}]`, said(r, 1, env.EventInfo)[0])
	r = exchange(t, e, call("add", "note", "again"), "It is done.")
	require.Equal(t, []string{"again"}, said(r, 0, env.EventToolResult))
	require.Equal(t, env.Terminated, r.Flags[1])
	require.Equal(t, []string{"2", "1", "1", "0"}, said(r, 1, env.EventMetric))
}

// Promise: a server that crashes ends one episode, with what it wrote last; a call that takes
// too long is a result with a name, and so is one beyond the limit.
func TestFaults(t *testing.T) {
	e := start(t, 2, func(o *Options) { o.Limits.Call, o.Limits.Calls = 500*time.Millisecond, 2 })
	exchange(t, e, "", "")
	r := exchange(t, e, call("do", "what", "crash"), call("do", "what", "sleep"))
	require.Equal(t, env.Failed, r.Flags[0])
	require.Contains(t, said(r, 0, env.EventError)[0], "the server exited (exit status 3); it last wrote: out of paper")
	require.Equal(t, []string{"timeout: the tool did not answer within 500ms"}, said(r, 1, env.EventToolResult))
	r = exchange(t, e, "", call("add", "note", "x"))
	require.Zero(t, r.Flags[0])
	r = exchange(t, e, call("add", "note", "y"), call("add", "note", "z"))
	require.Equal(t, []string{"y"}, said(r, 0, env.EventToolResult))
	require.Contains(t, said(r, 1, env.EventToolResult)[0], "too_many_calls")
}

// Promise: what was recorded is replayed without a server, in the same words, after the same
// calls only; anything else is an error with a name, or an answer with it.
func TestRecordAndReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording.jsonl")
	episodes := [][]string{{call("add", "note", "a"), call("add", "note", "b"), "Done."}, {call("add", "note", "a"), call("do", "what", "fail"), "Done."}}
	e := start(t, 2, func(o *Options) { o.Mode, o.Recording = record, file })
	_, err := os.Stat(file)
	require.ErrorIs(t, err, os.ErrNotExist) // nothing is written before a call
	recorded := playAll(t, e, episodes)
	require.NoError(t, e.Close())
	o := settings(t, func(o *Options) { o.Mode, o.Recording, o.Command, o.Args = replay, file, "", nil })
	e, err = try(o, 2)
	require.NoError(t, err)
	require.Equal(t, recorded, playAll(t, e, episodes))
	exchange(t, e, "", "")
	r := exchange(t, e, call("add", "note", "b"), call("add", "note", "a"))
	require.Equal(t, env.Failed, r.Flags[0])
	require.Contains(t, said(r, 0, env.EventError)[0], `not_recorded: add{"note":"b"} is not in the recording after the calls before it`)
	require.Equal(t, []string{"a"}, said(r, 1, env.EventToolResult))
	o.Unrecorded = answer
	e, err = try(o, 1)
	require.NoError(t, err)
	require.NotEmpty(t, said(exchange(t, e, ""), 0, env.EventInfo)[0]) // the digest of the recording
	r = exchange(t, e, call("add", "note", "b"))
	require.Equal(t, []string{`not_recorded: add{"note":"b"} is not in the recording`}, said(r, 0, env.EventToolResult))
	o.Digest = "sha256:" + strings.Repeat("0", 64)
	_, err = try(o, 1)
	require.ErrorContains(t, err, "has the digest sha256:")
}

func playAll(t *testing.T, e env.Env, episodes [][]string) (all []string) {
	exchange(t, e, "", "")
	for i := range episodes[0] {
		r := exchange(t, e, episodes[0][i], episodes[1][i])
		for slot := range 2 {
			all = append(all, said(r, slot, env.EventToolResult)...)
			all = append(all, said(r, slot, env.EventMetric)...)
		}
		all = append(all, r.Anchor...)
	}
	return all
}

// Promise: recording continues a recorded episode in the state that the calls before it made,
// and says so if the server now answers them differently.
func TestRecordContinues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording.jsonl")
	for _, note := range []string{"b", "c"} {
		e := start(t, 1, func(o *Options) { o.Mode, o.Recording = record, file })
		exchange(t, e, "")
		exchange(t, e, call("add", "note", "a"))
		r := exchange(t, e, call("add", "note", note))
		require.Equal(t, []string{"a " + note}, said(r, 0, env.EventToolResult))
		require.NoError(t, e.Close())
	}
	for i, want := range []string{"", "recording_differs: the server answered do"} {
		e := start(t, 1, func(o *Options) { o.Mode, o.Recording = record, file })
		exchange(t, e, "")
		exchange(t, e, call("do", "what", "time"))
		r := exchange(t, e, call("add", "note", fmt.Sprint(i)))
		require.Equal(t, want != "", r.Flags[0] == env.Failed)
		if want != "" {
			require.Contains(t, said(r, 0, env.EventError)[0], want)
		}
		require.NoError(t, e.Close())
	}
	_, err := try(settings(t, func(o *Options) { o.Mode, o.Recording, o.Match = record, file, "call" }), 1)
	require.ErrorContains(t, err, "was recorded with match: history")
}

// Promise: the value of a variable that is passed to the server reaches neither a model nor a
// recording.
func TestSecrets(t *testing.T) {
	t.Setenv("NOTEBOOK_KEY", "sesame-open-1234")
	file := filepath.Join(t.TempDir(), "recording.jsonl")
	e := start(t, 1, func(o *Options) { o.Mode, o.Recording, o.PassEnv = record, file, []string{"NOTEBOOK_KEY"} })
	exchange(t, e, "")
	r := exchange(t, e, call("do", "what", "secret"))
	require.Equal(t, []string{"the key is $NOTEBOOK_KEY"}, said(r, 0, env.EventToolResult))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "sesame")
}

// Promise: a network chooses from calls and answers, and sees the words of the task and the
// last result.
func TestChoices(t *testing.T) {
	e := start(t, 1, func(o *Options) {
		o.Choices = []Choice{{Name: "note", Tool: "add", Arguments: map[string]any{"note": "tea"}}, {Name: "done", Answer: "done"}}
	})
	require.Equal(t, []string{"note", "done"}, e.Spec().Actions)
	b, r := env.NewBatch(e.Spec()), new(env.Reply)
	b.Want, b.Ops[0] = env.WantFeatures, env.Reset
	require.NoError(t, e.Exchange(t.Context(), b, r))
	before := append([]float32(nil), r.Features...)
	b.Ops[0] = env.Step
	require.NoError(t, e.Exchange(t.Context(), b, r))
	require.Len(t, r.Features, 2*buckets+3)
	require.NotEqual(t, before, r.Features)
	require.Equal(t, []string{"tea"}, said(r, 0, env.EventToolResult))
	b.Actions[0] = 1
	require.NoError(t, e.Exchange(t.Context(), b, r))
	require.Equal(t, env.Terminated, r.Flags[0])
	_, err := try(settings(t, func(o *Options) { o.Choices = []Choice{{Name: "x", Tool: "add"}} }), 1)
	require.ErrorContains(t, err, "options.choices[0]: The arguments of \"add\" are invalid")
}

// Promise: every problem of the options is reported at once, with its key.
func TestOptions(t *testing.T) {
	_, err := try(settings(t, func(o *Options) {
		o.Command, o.URL, o.Mode, o.Match, o.MaxSteps, o.Limits.Text = "", "ftp://x", "tape", "all", 0, 1
		o.Headers = map[string]string{"Authorization": "NOT_SET_ANYWHERE"}
	}), 1)
	for _, want := range []string{"options.command", "options.url", "options.mode", "options.match", "options.max_steps", "options.limits.text", "NOT_SET_ANYWHERE is not set"} {
		require.ErrorContains(t, err, want)
	}
	_, err = try(settings(t, func(o *Options) { o.Command = "no-such-program" }), 1)
	require.ErrorContains(t, err, "options.command: no-such-program does not answer as an MCP server: cannot start no-such-program: executable file not found in $PATH")
	_, err = try(settings(t, func(o *Options) { o.Tools = []string{"add", "subtract"} }), 1)
	require.ErrorContains(t, err, `options.tools[1]: the server has no tool "subtract"`)
}

// Promise: a replayed environment keeps the contract of environments.
func TestContract(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording.jsonl")
	e := start(t, 1, func(o *Options) { o.Mode, o.Recording = record, file })
	calls := []string{call("add", "note", "a"), call("do", "what", "fail")}
	exchange(t, e, "")
	for _, text := range calls {
		exchange(t, e, text)
	}
	require.NoError(t, e.Close())
	options, err := json.Marshal(map[string]any{"file": settings(t, nil).File, "mode": replay, "recording": file, "unrecorded": answer})
	require.NoError(t, err)
	envtest.Run(t, func(testing.TB) env.Env {
		e, err := Definition().Open(plugin.Setup{Slots: 4, Split: plugin.Train}, options)
		require.NoError(t, err)
		return e
	}, append(calls, "Done.")...)
}

// Promise: the server of the example, on the package of PyPI, answers as its recording says,
// over both transports.
func TestExample(t *testing.T) {
	python := testneeds.MCPPython(t)
	folder := filepath.Join(testneeds.Root(), "examples", "mcp")
	tape, err := cassette.Read(filepath.Join(folder, "recording.jsonl"))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	require.NoError(t, listener.Close())
	cmd := exec.Command(python, filepath.Join(folder, "shop.py"), port)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	reach := map[string]func(*Options){
		"stdio": func(o *Options) { o.Command, o.Args = python, []string{filepath.Join(folder, "shop.py")} },
		"http":  func(o *Options) { o.Command, o.Args, o.URL = "", nil, "http://127.0.0.1:"+port+"/mcp" },
	}
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	for name, how := range reach {
		e := start(t, 1, func(o *Options) {
			how(o)
			o.File, o.Limits.Start = filepath.Join(folder, "tasks.jsonl"), time.Minute
		})
		exchange(t, e, "")
		for number := 1001; number <= 1008; number++ {
			arguments := json.RawMessage(fmt.Sprintf(`{"number":"%d"}`, number))
			entry := tape.Find(tape.Key("", "order", arguments))
			require.NotNil(t, entry, number)
			r := exchange(t, e, call("order", "number", fmt.Sprint(number)))
			require.Equal(t, []string{entry.Answer.Text}, said(r, 0, env.EventToolResult), name)
		}
	}
}
