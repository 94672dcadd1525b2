package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/mcp/cassette"
	"github.com/merit-rl/merit/internal/mcp/client"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/plugins/internal/parallel"
	"github.com/merit-rl/merit/sdk/plugin"
)

// game holds what all slots share.
type game struct {
	options  Options
	tasks    []plugin.Task
	server   *client.Server
	tools    []mcp.Tool
	parser   *action.Parser     // checks calls against the schemas of the tools
	tape     *cassette.Tape     // in replay
	recorder *cassette.Recorder // in record
	digest   string             // of the tape
	hide     *strings.Replacer  // values of secret variables; nil = none
	places   chan struct{}      // for servers that start at the same time
	limit    time.Duration      // of a step: its slot may wait for a place
}

// open reads the tasks, and asks the server, or the recording, for the tools.
func open(setup plugin.Setup, o Options) (plugin.Vector, error) {
	all, err := o.Read()
	if err != nil {
		return nil, err
	}
	g := &game{options: o, tasks: o.deal(all, setup.Split), server: o.server(), hide: o.secrets(), places: make(chan struct{}, o.Limits.Starting)}
	g.limit = o.Limits.Start*time.Duration((setup.Slots+o.Limits.Starting-1)/o.Limits.Starting) + o.Limits.Call
	head, err := g.describe()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(g.offer(head.Tools), g.checkChoices()); err != nil {
		return nil, err
	}
	slots := make([]parallel.Slot, setup.Slots)
	for i := range slots {
		slots[i] = &slot{game: g}
	}
	return parallel.New(g.spec(head), slots, g.close), nil
}

func (g *game) close() error {
	if g.recorder == nil {
		return nil
	}
	return g.recorder.Close()
}

// describe returns what the server, or the recording, says of itself.
func (g *game) describe() (head cassette.Head, err error) {
	o := g.options
	if o.Mode == replay {
		return g.load()
	}
	ctx := context.Background() // the server's limits bound it
	session, err := g.server.Open(ctx)
	if err != nil {
		return head, g.unreachable(err)
	}
	defer session.Close()
	listed, err := session.Tools(ctx)
	if err != nil {
		return head, g.unreachable(err)
	}
	head = cassette.Head{Match: o.Match, Server: session.Peer, Instructions: session.Instructions, Tools: listed}
	if o.Mode == record {
		if g.recorder, err = cassette.Record(o.Recording, head); err != nil {
			err = plugin.Problem("recording", o.Recording+": "+err.Error(), "remove the file to record anew, or use mode: replay")
		}
	}
	return head, err
}

// load reads the recording.
func (g *game) load() (head cassette.Head, err error) {
	o := g.options
	if g.tape, err = cassette.Read(o.Recording); err != nil {
		return head, plugin.Problem("recording", o.Recording+": "+strings.TrimPrefix(err.Error(), "open "+o.Recording+": "), "record it with mode: record")
	}
	if m := g.tape.Head.Match; m != o.Match {
		return head, plugin.Problem("match", fmt.Sprintf("is %s, but %s was recorded with %s", o.Match, o.Recording, m), "set match: "+m)
	}
	if g.digest = g.tape.Digest(); o.Digest != "" && o.Digest != g.digest {
		return head, plugin.Problem("digest", fmt.Sprintf("%s has the digest %s", o.Recording, g.digest), "use the file that was meant, or set its digest")
	}
	return g.tape.Head, nil
}

// start opens a session. Few servers start at the same time, because a start is mostly work of
// the CPU.
func (g *game) start(ctx context.Context) (*client.Session, error) {
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot start a session: %w", context.Cause(ctx))
	}
	s, err := g.server.Open(ctx)
	if err == nil && s.Version == mcp.Stateless && g.options.URL != "" { // the schemas of tools name headers
		if _, err = s.Tools(ctx); err != nil {
			s.Close()
		}
	}
	if err != nil {
		return nil, errors.New(g.hidden("cannot start a session: " + err.Error()))
	}
	return s, nil
}

func (g *game) unreachable(err error) error {
	key, name := "command", g.options.Command
	if g.options.URL != "" {
		key, name = "url", g.options.URL
	}
	return plugin.Problem(key, fmt.Sprintf("%s does not answer as an MCP server: %v", name, g.hidden(err.Error())), "start it by hand to see what it writes, or correct its arguments")
}

// offer selects the tools of the policy and compiles their schemas.
func (g *game) offer(all []mcp.Tool) error {
	var p plugin.Problems
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
		if len(g.options.Tools) == 0 || slices.Contains(g.options.Tools, t.Name) {
			g.tools = append(g.tools, t)
		}
	}
	for i, name := range g.options.Tools {
		if !slices.Contains(names, name) {
			p.Add(fmt.Sprintf("tools[%d]", i), "the tools are "+strings.Join(names, ", "), "the server has no tool %q", wire.Clean(name, 100))
		}
	}
	if len(g.tools) == 0 && p.Err() == nil {
		p.Add("tools", "use a server that has some", "the server has no tools")
	}
	var err error
	g.parser, err = action.New(action.Config{Parse: action.ToolCalls, Take: action.Only}, nil, mcp.OpenAI(g.tools))
	if err != nil {
		p.Add("tools", "list the tools to use, without this one", "the schema of a tool cannot be used: %v", err)
	}
	return p.Err()
}

// checkChoices checks the calls of a network against the schemas.
func (g *game) checkChoices() error {
	var p plugin.Problems
	for i, c := range g.options.Choices {
		if c.Tool == "" || g.parser == nil {
			continue
		}
		if _, problem := g.parser.Parse("", []rl.ToolCall{c.call()}); problem != "" {
			p.Add(fmt.Sprintf("choices[%d]", i), "correct the tool or its arguments", "%s", strings.TrimSuffix(problem, "."))
		}
	}
	return p.Err()
}

// call returns the choice as a call of a model.
func (c Choice) call() rl.ToolCall {
	arguments := c.Arguments
	if arguments == nil {
		arguments = map[string]any{}
	}
	return rl.ToolCall{Type: "function", Function: rl.FunctionCall{Name: c.Tool, Arguments: string(mcp.Marshal(arguments))}}
}

// spec describes the environment.
func (g *game) spec(head cassette.Head) plugin.Spec {
	s := plugin.Spec{MaxSteps: g.options.MaxSteps, System: g.options.System, Tasks: len(g.tasks)}
	if s.System == "" {
		s.System = head.Instructions
	}
	s.System = wire.Cut(s.System, wire.MaxSystem)
	if len(g.options.Choices) == 0 {
		s.Tools = mcp.OpenAI(g.tools)
		return s
	}
	for _, c := range g.options.Choices {
		s.Actions = append(s.Actions, c.Name)
	}
	s.FeatureShape = []int{features(len(g.options.Choices))}
	return s
}

// hidden returns text without the values of secret variables.
func (g *game) hidden(text string) string {
	if g.hide == nil {
		return text
	}
	return g.hide.Replace(text)
}

// cleaned returns a result without the values of secret variables.
func (g *game) cleaned(r *mcp.Result) mcp.Result {
	out := *r
	out.Text = g.hidden(r.Text)
	if r.Value != nil && g.hide != nil {
		if value, err := mcp.Canonical([]byte(g.hide.Replace(string(r.Value)))); err == nil {
			out.Value = value
		} else {
			out.Value = nil // a value was cut in the middle of an escape
		}
	}
	return out
}
