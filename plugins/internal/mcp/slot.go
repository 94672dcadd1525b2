package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/mcp/cassette"
	"github.com/merit-rl/merit/internal/mcp/client"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/plugins/internal/parallel"
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/tasks"
)

// The names of errors with which the environment itself answers a call.
const (
	invalidArguments = "invalid_arguments" // the call does not fit the schema, and was not sent
	tooManyCalls     = "too_many_calls"
	timeout          = "timeout"
	notRecorded      = "not_recorded"
	recordingDiffers = "recording_differs" // of an episode
)

// mostInTurn is the largest number of calls of one turn, because a turn can report at most 64
// events to the host.
const mostInTurn = 32

// made is a call that was sent or replayed, and what came back. Rewards see it in the info
// mcp of a step.
type made struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Text      string          `json:"text"`
	IsError   bool            `json:"is_error"`
	Error     string          `json:"error,omitempty"` // name of an error of the environment itself
	Value     json.RawMessage `json:"value,omitempty"`
}

// slot plays one episode at a time.
type slot struct {
	game    *game
	session *client.Session
	unsent  []*cassette.Entry // calls that were answered from the recording, unknown to the session

	task                  plugin.Task
	chain                 string // key of all calls so far
	steps, calls          int
	errors, invalid, lost int
	chosen                []bool // by choice
	last                  made   // the last call
}

// Reset implements parallel.Slot.
func (s *slot) Reset(_ context.Context, seed uint64) (parallel.Frame, error) {
	if s.game.options.restarts() {
		s.Close()
	}
	*s = slot{game: s.game, session: s.session, chosen: make([]bool, len(s.game.options.Choices))}
	s.task = s.game.tasks[seed%uint64(len(s.game.tasks))]
	raw, err := json.Marshal(s.task)
	if err != nil {
		return parallel.Frame{}, err
	}
	f := s.frame(s.task.Messages[len(s.task.Messages)-1].Content.Text())
	f.Events = append(f.Events, env.Event{Kind: env.EventTask, Message: string(raw)})
	if d := s.game.digest; d != "" {
		f.Events = append(f.Events, info("recording", d))
	}
	return f, nil
}

func info(name string, value any) env.Event {
	return env.Event{Kind: env.EventInfo, Name: name, Message: string(mcp.Marshal(value))}
}

// frame returns the observation with this text.
func (s *slot) frame(text string) parallel.Frame {
	f := parallel.Frame{Anchor: tasks.Key(s.task) + "\n" + s.chain, Text: wire.Cut(text, wire.MaxText)}
	f.Anchor = wire.Cut(f.Anchor, wire.MaxText)
	if len(s.chosen) > 0 {
		f.Features = s.features()
	}
	return f
}

// Step implements parallel.Slot.
func (s *slot) Step(ctx context.Context, a plugin.Action) (parallel.Frame, error) {
	s.steps++
	limit := s.game.limit
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &client.Late{Limit: limit})
	defer cancel()
	calls, final := s.read(a)
	switch {
	case final != "":
		return s.end(s.frame("The episode is over."), env.Terminated), nil
	case len(calls) == 0:
		s.invalid++
		f := s.frame("You said nothing. Call a tool, or give your answer. " + s.left())
		f.Flags = env.InvalidAction
		return s.end(f, 0), nil
	}
	var all []made
	for _, c := range calls {
		m, err := s.call(ctx, c, len(all))
		if err != nil {
			s.Close()
			return parallel.Frame{}, err
		}
		all = append(all, m)
	}
	return s.show(all), nil
}

// left says how many steps are left.
func (s *slot) left() string {
	return fmt.Sprintf("Steps left: %d.", s.game.options.MaxSteps-s.steps)
}

// read returns the calls of an action, or the text that ends the episode.
func (s *slot) read(a plugin.Action) (calls []rl.ToolCall, final string) {
	if len(s.game.options.Choices) > 0 {
		c := s.game.options.Choices[a.Index]
		s.chosen[a.Index] = true
		if c.Answer != "" {
			return nil, c.Answer
		}
		return []rl.ToolCall{c.call()}, ""
	}
	text := strings.TrimSpace(a.Text)
	if strings.HasPrefix(text, "[") && strictjson.Unmarshal([]byte(text), &calls) == nil {
		named := true
		for _, c := range calls {
			named = named && c.Function.Name != ""
		}
		if named {
			return calls, ""
		}
	}
	return nil, text
}

// show returns the frame for the results of the calls of a turn.
func (s *slot) show(all []made) parallel.Frame {
	refused := 0
	var events []env.Event
	for _, m := range all {
		if m.Error == invalidArguments || m.Error == tooManyCalls {
			refused++
		}
		s.last = m
		events = append(events, env.Event{Kind: env.EventToolResult, Name: wire.Cut(m.Tool, wire.MaxName), Message: m.Text})
	}
	f := s.frame(s.left())
	f.Events = append(events, info("mcp", all))
	if refused == len(all) {
		f.Flags = env.InvalidAction
	}
	return s.end(f, 0)
}

// end adds flag, truncates at the limit of steps, and reports the metrics of an episode that
// is over.
func (s *slot) end(f parallel.Frame, flag env.Flag) parallel.Frame {
	if f.Flags |= flag; flag == 0 && s.steps >= s.game.options.MaxSteps {
		f.Flags |= env.Truncated
	}
	if f.Flags&(env.Terminated|env.Truncated) == 0 {
		return f
	}
	for _, m := range []struct {
		name  string
		value int
	}{{"calls", s.calls}, {"tool_errors", s.errors}, {"invalid_calls", s.invalid}, {"not_recorded", s.lost}} {
		f.Events = append(f.Events, env.Event{Kind: env.EventMetric, Name: m.name, Message: fmt.Sprint(m.value)})
	}
	return f
}

// call checks a call and gets its answer. before is the number of calls of the turn before it.
func (s *slot) call(ctx context.Context, c rl.ToolCall, before int) (made, error) {
	m := made{Tool: wire.Clean(c.Function.Name, wire.MaxName), Arguments: json.RawMessage("{}")}
	parsed, problem := s.game.parser.Parse("", []rl.ToolCall{c})
	if problem != "" {
		s.invalid++
		return m.refuse(invalidArguments, problem), nil
	}
	arguments, err := mcp.Canonical(json.RawMessage(parsed.ToolCalls[0].Function.Arguments))
	if err != nil {
		s.invalid++
		return m.refuse(invalidArguments, err.Error()), nil
	}
	m.Arguments = arguments
	if s.calls >= s.game.options.Limits.Calls || before >= mostInTurn {
		s.invalid++
		return m.refuse(tooManyCalls, fmt.Sprintf("an episode has at most %d calls, and a turn %d", s.game.options.Limits.Calls, mostInTurn)), nil
	}
	s.calls++
	r, name, err := s.answer(ctx, c.Function.Name, arguments)
	if err != nil {
		return m, err
	}
	s.chain = cassette.Chain(s.chain, c.Function.Name, arguments)
	if r.IsError {
		s.errors++
	}
	m.Text, m.IsError, m.Value, m.Error = r.Text, r.IsError, r.Value, name
	return m, nil
}

// refuse answers a call that is not sent.
func (m made) refuse(name, why string) made {
	m.Text, m.IsError, m.Error = name+": "+why, true, name
	return m
}

// answer returns the result of a call, from the recording or the server. name is that of an
// error of the environment itself, or "".
func (s *slot) answer(ctx context.Context, tool string, arguments json.RawMessage) (r mcp.Result, name string, err error) {
	switch s.game.options.Mode {
	case replay:
		return s.replay(tool, arguments)
	case record:
		r, err = s.record(ctx, tool, arguments)
		return r, "", err
	}
	r, err = s.ask(ctx, tool, arguments)
	if errors.As(err, new(*client.Late)) {
		return mcp.Result{Text: err.Error(), IsError: true}, timeout, nil
	}
	return r, "", err
}

func (s *slot) replay(tool string, arguments json.RawMessage) (r mcp.Result, name string, err error) {
	tape := s.game.tape
	if e := tape.Find(tape.Key(s.chain, tool, arguments)); e != nil {
		return e.Answer, "", nil
	}
	s.lost++
	what := fmt.Sprintf("%s: %s%s is not in the recording", notRecorded, tool, wire.Clean(string(arguments), 200))
	if s.game.options.Unrecorded == answer {
		return mcp.Result{Text: what, IsError: true}, notRecorded, nil
	}
	if tape.Head.Match == cassette.History {
		what += " after the calls before it"
	}
	return r, "", errors.New(what + "; record it with mode: record, or answer it with unrecorded: answer")
}

// record answers from the recording what is in it. The first call that is not starts the
// server, brings it to the same state with the calls before, and is recorded.
func (s *slot) record(ctx context.Context, tool string, arguments json.RawMessage) (r mcp.Result, err error) {
	t := s.game.recorder
	if e := t.Find(t.Key(s.chain, tool, arguments)); e != nil {
		s.unsent = append(s.unsent, e)
		return e.Answer, nil
	}
	if s.game.options.Match == cassette.Call {
		s.unsent = nil // the server has no state
	}
	for len(s.unsent) > 0 {
		e := s.unsent[0]
		again, err := s.ask(ctx, e.Tool, e.Arguments)
		if err != nil {
			return r, err
		}
		if err := same(e, &again); err != nil {
			return r, err
		}
		s.unsent = s.unsent[1:]
	}
	if r, err = s.ask(ctx, tool, arguments); err != nil {
		return r, err
	}
	e, err := t.Add(s.chain, tool, arguments, r)
	if err != nil {
		return r, fmt.Errorf("cannot record: %w", err)
	}
	return r, same(e, &r)
}

// same returns an error if the server answered e differently this time.
func same(e *cassette.Entry, now *mcp.Result) error {
	if e.Answer.Text == now.Text && e.Answer.IsError == now.IsError && string(e.Answer.Value) == string(now.Value) {
		return nil
	}
	return fmt.Errorf("%s: the server answered %s%s with %q before and with %q now: its answers depend on time, chance or another episode, so an episode cannot continue a recorded one",
		recordingDiffers, e.Tool, wire.Clean(string(e.Arguments), 100), wire.Clean(e.Answer.Text, 100), wire.Clean(now.Text, 100))
}

// ask sends a call to the server, which it starts if it does not run.
func (s *slot) ask(ctx context.Context, tool string, arguments json.RawMessage) (r mcp.Result, err error) {
	if s.session == nil {
		if s.session, err = s.game.start(ctx); err != nil {
			return r, err
		}
	}
	answered, err := s.session.Call(ctx, tool, arguments)
	if errors.As(err, new(*client.Late)) {
		return r, err
	}
	if err != nil {
		return r, errors.New(s.game.hidden(err.Error()))
	}
	return s.game.cleaned(answered), nil
}

// Close implements parallel.Slot. It ends the server of the slot.
func (s *slot) Close() {
	if s.session != nil {
		s.session.Close()
		s.session = nil
	}
}
