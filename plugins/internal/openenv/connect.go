package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/openenv/session"
	"github.com/merit-rl/merit/internal/openenv/shape"
	"github.com/merit-rl/merit/sdk/plugin"
)

// game holds what all slots share after the connection to the server.
type game struct {
	options Options
	split   string
	server  *session.Server
	tools   json.RawMessage
	parser  *action.Parser // of JSON for the server's action; nil if action.as is not json
}

// open returns the slots that play on the server.
func open(setup plugin.Setup, o Options) (plugin.Vector, error) {
	g, err := connect(setup, o)
	if err != nil {
		return nil, err
	}
	return newVector(g, setup.Slots), nil
}

// connect asks the server for its description and checks the options against its schemas.
func connect(setup plugin.Setup, o Options) (*game, error) {
	base, _ := o.base() // checked
	header, _ := o.header()
	g := &game{options: o, split: setup.Split, server: &session.Server{
		URL: base, Header: header, Connect: o.ConnectTimeout, MaxMessage: o.MaxMessage, Places: make(chan struct{}, o.Connecting),
	}}
	ctx, cancel := context.WithTimeout(context.Background(), o.ConnectTimeout)
	defer cancel()
	var health shape.Health
	var about shape.Metadata
	var schema shape.Schema
	if err := g.server.Get(ctx, "/health", &health); err != nil {
		return nil, plugin.Problem("url", fmt.Sprintf("%s does not answer as an OpenEnv server: /health: %v", base, err), "start the server, or correct the address")
	}
	problems := []error{roomFor(setup.Slots)}
	if health.Status == "unhealthy" {
		problems = append(problems, plugin.Problem("url", base+" reports that it is unhealthy", "check the server and its log"))
	}
	for _, b := range []struct {
		endpoint string
		into     any
	}{{"/metadata", &about}, {"/schema", &schema}} {
		if err := g.server.Get(ctx, b.endpoint, b.into); err != nil {
			problems = append(problems, plugin.Problem("url", fmt.Sprintf("%s%s: %v", base, b.endpoint, err), "check that it is an OpenEnv server"))
		}
	}
	if schema.Action != nil {
		problems = append(problems, g.fit(schema)...)
	}
	if o.Action.As == asTools {
		err := g.listTools(ctx)
		if err != nil {
			err = plugin.Problem("action.as", fmt.Sprintf("is tools, but the server does not list its tools: %v", err), "use text, json or choices")
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if g.options.System == "" {
		g.options.System = about.Description
	}
	return g, nil
}

// roomFor checks the number of slots against the files that the process may open.
func roomFor(slots int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= uint64(slots)+64 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "limits.files", What: fmt.Sprintf("the plug-in may open %d files, but each of %d slots needs a connection", limit.Cur, slots),
		Hint: fmt.Sprintf("set it to %d or more, or lower slots", slots+64),
	}
}

// fit checks the options against the schemas of the server.
func (g *game) fit(schema shape.Schema) (all []error) {
	a := g.options.Action
	parser, err := action.New(action.Config{Parse: action.JSONSchema, Take: action.Only, Schema: schema.Action}, nil, nil)
	if err != nil {
		return []error{plugin.Problem("action.as", fmt.Sprintf("the server's schema of actions cannot be used: %v", err), "report it to the server's author")}
	}
	switch a.As {
	case asText:
		all = g.fitField(schema.Action)
	case asChoices:
		for i, c := range a.Choices {
			all = append(all, g.fitAction(fmt.Sprintf("action.choices.%d.action", i), parser, g.merged(c.Action), schema.Action)...)
		}
	case asJSON:
		g.parser = parser
	}
	return append(all, g.fitPaths(schema.Observation)...)
}

// fitField checks that the server knows each field of an action, and that required ones are set.
// The server itself reports which texts it accepts.
func (g *game) fitField(schema map[string]any) (all []error) {
	properties, _ := schema["properties"].(map[string]any)
	whole := g.merged(map[string]any{g.options.Action.Field: ""})
	hint := "the fields of its actions are " + strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
	for _, field := range slices.Sorted(maps.Keys(whole)) {
		if closed, ok := schema["additionalProperties"].(bool); ok && !closed && properties[field] == nil {
			key := "action.with." + field
			if field == g.options.Action.Field {
				key = "action.field"
			}
			all = append(all, plugin.Problem(key, fmt.Sprintf("the server's actions have no field %q", field), hint))
		}
	}
	required, _ := schema["required"].([]any)
	for _, field := range required {
		name, _ := field.(string)
		if _, filled := whole[name]; !filled {
			all = append(all, plugin.Problem("action.with", fmt.Sprintf("omits %q, which every action of the server has", name), hint))
		}
	}
	return all
}

// fitAction checks one action against the schema of actions.
func (g *game) fitAction(key string, parser *action.Parser, object, schema map[string]any) []error {
	text, err := json.Marshal(object)
	if err != nil {
		return []error{plugin.Problem(key, err.Error(), "use texts, numbers, lists and maps")}
	}
	if _, problem := parser.Parse(string(text), nil); problem != "" {
		properties, _ := schema["properties"].(map[string]any)
		return []error{plugin.Problem(key, fmt.Sprintf("makes the action %s, which the server does not accept: %s", text, strings.TrimSuffix(problem, ".")),
			"the fields of its actions are "+strings.Join(slices.Sorted(maps.Keys(properties)), ", "))}
	}
	return nil
}

// fitPaths finds paths whose first key the observation cannot have.
func (g *game) fitPaths(schema map[string]any) (all []error) {
	properties, _ := schema["properties"].(map[string]any)
	if closed, ok := schema["additionalProperties"].(bool); !ok || closed || len(properties) == 0 {
		return nil
	}
	b := g.options.Observation
	for key, paths := range map[string]Paths{
		"text": b.Text, "anchor": b.Anchor, "features": b.Features, "info": b.Info, "mask": {b.Mask}, "legal": {b.Legal}, "truncated": {b.Truncated}, "invalid": {b.Invalid}, "metrics": {b.Metrics},
	} {
		for _, path := range paths {
			inside, ok := strings.CutPrefix(path, "observation.")
			field, _, _ := strings.Cut(inside, ".")
			if _, there := properties[field]; ok && !there {
				all = append(all, plugin.Problem("observation."+key, fmt.Sprintf("the server's observations have no field %q", field),
					"they have "+strings.Join(slices.Sorted(maps.Keys(properties)), ", ")))
			}
		}
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all
}

// listTools asks for the server's tools in a separate session.
func (g *game) listTools(ctx context.Context) error {
	s, err := g.server.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := s.Ask(ctx, shape.Encode(shape.Step, map[string]string{"type": shape.ListTools}))
	if err != nil {
		return err
	}
	answer, err := shape.DecodeAnswer(m.Data)
	if err != nil {
		return err
	}
	observation, _ := answer.Lookup("observation")
	g.tools, err = shape.ToolsOf(observation)
	return err
}

// merged returns an action with the fields that every action has.
func (g *game) merged(object map[string]any) map[string]any {
	whole := maps.Clone(g.options.Action.With)
	if whole == nil {
		whole = map[string]any{}
	}
	maps.Copy(whole, object)
	return whole
}
