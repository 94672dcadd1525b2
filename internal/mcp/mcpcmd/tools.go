package mcpcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/mcp"
)

// mostPrinted bounds what a command may print.
const mostPrinted = 64 << 20

// tool is a tool and what computes its answer.
type tool struct {
	mcp.Tool
	do func(ctx context.Context, a arguments) (string, error)
}

// arguments are those that the tools take. A tool takes those in its schema.
type arguments struct {
	Folder     string `json:"folder"`
	Run        string `json:"run"`
	Iteration  *int   `json:"iteration"`
	Group      string `json:"group"`
	Trajectory string `json:"trajectory"`
	Step       *int   `json:"step"`
	Query      string `json:"query"`
	By         string `json:"by"`
	After      string `json:"after"`
	ID         string `json:"id"`
	Limit      *int   `json:"limit"`
	From       *int   `json:"from"`
	Offset     int    `json:"offset"`
}

type object = map[string]any

// properties are the schemas of arguments.
var properties = object{
	"folder":     object{"type": "string", "description": "folder of runs, relative to the root; omit it for the root"},
	"run":        object{"type": "string", "description": "run directory, relative to the root"},
	"iteration":  object{"type": "integer", "minimum": 0, "description": "iteration of training"},
	"group":      object{"type": "string", "description": "id of a group or of one episode; * and ? match any characters"},
	"trajectory": object{"type": "string", "description": "id of an episode, such as train-3-g14-m1"},
	"step":       object{"type": "integer", "minimum": 0, "description": "step of the episode, from 0"},
	"query":      object{"type": "string", "description": "words such as agent=planner status=error reward>=0.5 since=7d"},
	"by":         object{"enum": []string{"day", "agent", "task", "status"}, "description": "column to group by"},
	"after":      object{"type": "string", "description": "continue after a page: the value of next"},
	"id":         object{"type": "string", "description": "id of a trace, or its beginning"},
	"limit":      object{"type": "integer", "minimum": 1, "maximum": 1000, "description": "number of items"},
	"from":       object{"type": "integer", "minimum": 0, "description": "first iteration"},
	"offset":     object{"type": "integer", "minimum": 0, "description": "byte of the result to begin with, to continue a long one"},
}

// schema describes a tool that takes these arguments and offset; those with a ! are required.
func schema(names ...string) json.RawMessage {
	of, required := object{"offset": properties["offset"]}, []string{}
	for _, name := range names {
		bare := strings.TrimSuffix(name, "!")
		of[bare] = properties[bare]
		if bare != name {
			required = append(required, bare)
		}
	}
	return mcp.Marshal(object{"type": "object", "properties": of, "required": required, "additionalProperties": false})
}

var readOnly = json.RawMessage(`{"readOnlyHint":true,"openWorldHint":false}`)

// tools lists the tools of the command.
func (o *options) tools() []tool {
	all := []tool{
		o.tool("list_runs", "Lists the runs in a folder, the newest first, with state, success and the number of red flags.", o.listRuns, "folder"),
		o.tool("show_run", "Shows the results of a run: its summary or, while it runs, its last iteration; its rewards, environment and policy.", o.showRun, "run!"),
		o.tool("metrics", "Lists the measurements of a run by iteration.", o.metrics, "run!", "from", "limit"),
		o.tool("red_flags", "Lists the red flags of a run, such as reward hacking or collapse, with evidence, advice and the episodes to read first.", o.redFlags, "run!"),
		o.tool("group", "Shows the saved episodes of a run step by step, with scores and advantages: one group, one episode, or the first ones.", o.group, "run!", "group", "limit"),
		o.tool("explain_step", "Recomputes the advantage of a step and shows each part of it: the group, the steps with the same state, means and deviations. Without a step, it explains the one with the largest advantage.", o.explainStep, "run!", "iteration", "trajectory", "step"),
		o.tool("verify", "Recomputes the scores and advantages of a run and compares them with the stored ones, bit for bit. It may take minutes.", o.verify, "run!"),
	}
	if o.Store != "" {
		all = append(all,
			o.tool("list_traces", "Lists the traces of agents that match a query.", o.listTraces, "query", "after"),
			o.tool("query_traces", "Counts the traces that match a query, and their mean rewards, by day, agent, task or status.", o.queryTraces, "query", "by"),
			o.tool("show_trace", "Shows a trace: its spans, messages and rewards.", o.showTrace, "id!"),
		)
	}
	return all
}

func (o *options) tool(name, about string, do func(context.Context, arguments) (string, error), takes ...string) tool {
	return tool{mcp.Tool{Name: name, Description: about, InputSchema: schema(takes...), Annotations: readOnly}, do}
}

// call returns what calls a tool and cuts its answer to a page.
func (o *options) call(all []tool) func(context.Context, string, json.RawMessage) (*mcp.Result, error) {
	return func(ctx context.Context, name string, raw json.RawMessage) (*mcp.Result, error) {
		t := all[slices.IndexFunc(all, func(t tool) bool { return t.Name == name })]
		var a arguments
		if err := strictjson.UnmarshalKnown(raw, &a); err != nil {
			return nil, fmt.Errorf("the arguments do not fit the schema: %w", err)
		}
		if err := t.takes(raw); err != nil {
			return nil, err
		}
		text, err := t.do(ctx, a)
		if err != nil {
			return nil, err
		}
		return o.page(text, a.Offset)
	}
}

// takes returns an error if the arguments are not those of the tool.
func (t *tool) takes(raw json.RawMessage) error {
	var given map[string]json.RawMessage
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := errors.Join(strictjson.Unmarshal(raw, &given), strictjson.Unmarshal(t.InputSchema, &s)); err != nil {
		return err
	}
	for name := range given {
		if s.Properties[name] == nil {
			return fmt.Errorf("%s does not take %s", t.Name, name)
		}
	}
	for _, name := range s.Required {
		if given[name] == nil {
			return fmt.Errorf("%s needs %s", t.Name, name)
		}
	}
	return nil
}

// page returns the part of text that begins at offset.
func (o *options) page(text string, offset int) (*mcp.Result, error) {
	if offset < 0 || offset > len(text) {
		return nil, fmt.Errorf("offset %d is not in the result, which has %d bytes", offset, len(text))
	}
	for offset < len(text) && !utf8.RuneStart(text[offset]) {
		offset++
	}
	rest := text[offset:]
	if len(rest) <= o.Max {
		return &mcp.Result{Text: rest}, nil
	}
	end := o.Max
	for !utf8.RuneStart(rest[end]) {
		end--
	}
	return &mcp.Result{Text: fmt.Sprintf("%s\n[bytes %d to %d of %d: continue with offset %d]", rest[:end], offset, offset+end, len(text), offset+end)}, nil
}

// bounded keeps at most a number of bytes.
type bounded struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("the result has more than %d bytes; ask for less", b.most)
	}
	return b.Buffer.Write(p)
}

// merit runs a command of merit with --json and returns what it prints. A failed command is
// an error with what it says.
func (o *options) merit(ctx context.Context, args ...string) (string, error) {
	out, messages := &bounded{most: mostPrinted}, &bounded{most: 1 << 20}
	h := &console.Host{
		Env: o.host.Env, LookupEnv: o.host.LookupEnv, Stdin: strings.NewReader(""), Stdout: out, Stderr: messages,
		StdoutSize: noSize, StderrSize: noSize, Now: o.host.Now, Exit: func(int) {},
	}
	code := o.run(ctx, h, append([]string{"--json", "--quiet", "--no-color"}, args...))
	text := strings.ReplaceAll(out.String(), o.root, ".")
	if said := strings.TrimSpace(strings.ReplaceAll(messages.String(), o.root, ".")); code != 0 {
		return "", fmt.Errorf("exit code %d: %s\n%s", code, said, text)
	}
	return text, nil
}

// of returns the flag for a value, or nothing if it is not given.
func of[T any](flag string, value *T) []string {
	if value == nil {
		return nil
	}
	return []string{fmt.Sprintf("--%s=%v", flag, *value)}
}

// text returns a text argument, or nil if it is empty.
func text(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

// onRun runs a command on a run.
func (o *options) onRun(ctx context.Context, name, verb string, flags ...string) (string, error) {
	dir, err := o.directory(name)
	if err != nil {
		return "", err
	}
	return o.merit(ctx, append(append([]string{verb}, flags...), "--", dir)...)
}

// directory returns the path of a run.
func (o *options) directory(name string) (string, error) {
	dir, err := o.inside(name)
	if err != nil {
		return "", err
	}
	if _, err := run.ReadManifest(dir); err != nil {
		return "", fmt.Errorf("%.100q is not a run: %w; list_runs shows the runs", name, err)
	}
	return dir, nil
}

func (o *options) listRuns(ctx context.Context, a arguments) (string, error) {
	dir, err := o.inside(a.Folder)
	if err != nil {
		return "", err
	}
	return o.merit(ctx, "runs", "--", dir)
}

func (o *options) group(ctx context.Context, a arguments) (string, error) {
	return o.onRun(ctx, a.Run, "view", append(of("id", text(a.Group)), of("limit", a.Limit)...)...)
}

func (o *options) explainStep(ctx context.Context, a arguments) (string, error) {
	return o.onRun(ctx, a.Run, "explain", slices.Concat(of("iteration", a.Iteration), of("trajectory", text(a.Trajectory)), of("step", a.Step))...)
}

func (o *options) verify(ctx context.Context, a arguments) (string, error) {
	return o.onRun(ctx, a.Run, "verify")
}

// onStore runs a command of merit traces on the store.
func (o *options) onStore(ctx context.Context, flags []string, args ...string) (string, error) {
	store, err := o.inside(o.Store)
	if err != nil {
		return "", err
	}
	line := append([]string{"traces", args[0], "--store=" + store}, flags...)
	return o.merit(ctx, append(append(line, "--"), args[1:]...)...)
}

func (o *options) listTraces(ctx context.Context, a arguments) (string, error) {
	return o.onStore(ctx, of("after", text(a.After)), append([]string{"list"}, strings.Fields(a.Query)...)...)
}

func (o *options) queryTraces(ctx context.Context, a arguments) (string, error) {
	return o.onStore(ctx, of("by", text(a.By)), append([]string{"query"}, strings.Fields(a.Query)...)...)
}

func (o *options) showTrace(ctx context.Context, a arguments) (string, error) {
	return o.onStore(ctx, nil, "show", a.ID)
}

// noSize is the size of what is not a terminal.
func noSize() (columns, rows int) { return 0, 0 }
